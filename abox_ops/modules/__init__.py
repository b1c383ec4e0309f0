"""Modules, their shapes, and what is answered of them (THEORY.md 2.5)."""
