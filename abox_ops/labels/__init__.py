"""Labels: what one set of literals says by itself, whoever has it (THEORY, "DL-clauses", "Told
literals", "Irrelevant role assertions" and "Outside completion").
"""
