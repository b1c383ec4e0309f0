"""A_add as published (THEORY.md 1), and the criterion that leaves nothing out."""
