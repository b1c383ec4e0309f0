"""Generator of LUBM data, of insertion batches for it, and of planted faults."""
