"""Modules, their shapes, and their answers (THEORY, "Modules")."""
