"""The criteria `model` and `clausal`: I and A_add around a batch (THEORY, "The add set" and "The
criterion `model`").
"""
