"""Labels: what one set of literals implies by itself, at any element (THEORY, "DL-clauses", "Told
literals", "Irrelevant role assertions" and "Outside completion").
"""
