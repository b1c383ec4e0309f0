"""The criterion `model`: N patched around a batch (THEORY.md 3)."""
