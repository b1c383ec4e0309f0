"""The published method (THEORY, "The published method"), and the criterion `none`, which keeps
everything.
"""
