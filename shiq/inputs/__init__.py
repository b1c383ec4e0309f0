"""Inputs: find, open, decompress and recognise sources, and what was read from them."""
