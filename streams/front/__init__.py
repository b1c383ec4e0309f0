"""What all stream commands share in one process: events, sources, sinks, rejects, lateness,
checkpoints.
"""
