"""A_add as published (THEORY, "The published method"), and the criterion that leaves nothing out.

`definitions` has part-of, remedies and irrelevance, `reference` and `columns` the procedure.
"""
