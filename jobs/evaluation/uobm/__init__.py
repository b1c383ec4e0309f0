"""Our generator of UOBM data."""
