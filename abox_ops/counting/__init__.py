"""Counting: when ≤n S.C cannot be broken, however the rest turns out (THEORY, "Irrelevant role
assertions").
"""
