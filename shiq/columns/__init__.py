"""Assertions as columns: sorted integer arrays, and the rows of an ABox."""
