"""A_add as published (THEORY, "The published method"), and the criterion that leaves nothing out.

`outcome` has the definitions (part-of, remedies, irrelevance), `reference` and `columns` the procedure.
"""
