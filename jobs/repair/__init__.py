"""Conflicts that a base has by itself, and what of it goes so that the rest is consistent."""
