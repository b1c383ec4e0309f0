"""A_add as published (THEORY, "The published method"), and the criterion that leaves nothing out.

`definitions` has them (part-of, remedies, irrelevance), `reference` and `columns` the procedure.
"""
