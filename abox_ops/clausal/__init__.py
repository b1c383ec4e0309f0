"""The clausal criterion (THEORY, "Irrelevant role assertions" and "The add set")."""
