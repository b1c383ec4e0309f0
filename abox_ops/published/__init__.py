"""A_add as published (THEORY, "The published method"), and the criterion that leaves nothing out."""
