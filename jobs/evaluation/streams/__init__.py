"""Generators of streams, for measurements and for trying things out."""
