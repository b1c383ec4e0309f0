"""The criteria `model` and `clausal`: the elements I that a batch may affect, and A_add around them
(THEORY, "The add set" and "The criterion `model`").
"""
