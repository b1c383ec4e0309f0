"""Streams that are generated, to measure and to try things out."""
