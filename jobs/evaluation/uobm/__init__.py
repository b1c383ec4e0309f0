"""Generator of UOBM data."""
