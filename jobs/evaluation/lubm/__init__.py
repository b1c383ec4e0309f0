"""Our generator of LUBM data, and of batches and faults for it."""
