"""Labels: what one set of literals says by itself, whoever has it (THEORY.md 2.1 to 2.3, 3.1)."""
