"""Rules over streams: stratified Datalog with windows, one model a point."""
