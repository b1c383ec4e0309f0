"""Conflicts: what of a batch contradicts (T, A), and why."""
