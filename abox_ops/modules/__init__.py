"""Modules, their shapes, and what is answered of them (THEORY, "Modules")."""
