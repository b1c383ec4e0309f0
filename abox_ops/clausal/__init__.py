"""The clausal criterion (THEORY.md 2.3, 2.4)."""
