"""Told literals: what (T, A) entails without branching, at all elements at once (THEORY, "Told
literals").

`shiq.abox_ops.index.deletion` maintains them under deletions, `shiq.abox_ops.patch` under
insertions.
"""
