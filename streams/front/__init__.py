"""Events, sources, sinks, rejects, watermarks and checkpoints: shared by all stream commands."""
