"""Told literals: what (T, A) entails without branching, at all elements at once (THEORY, "Told literals")."""
