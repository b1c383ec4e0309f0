"""Conflicts: the insertions of a batch that contradict (T, A), and why."""
