"""Run stream operators in Spark tasks, by Spark Structured Streaming."""
