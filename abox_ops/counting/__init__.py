"""Counting for at-most restrictions: when ≤n S.C cannot be violated in any extension (THEORY,
"Irrelevant role assertions").
"""
