"""The criterion `model`: N patched around a batch (THEORY, "The criterion `model`")."""
