"""Assertions as columns: arrays, the rows of an ABox, texts."""
