"""The benchmark: the figures that the project holds itself to, beside the peers."""
