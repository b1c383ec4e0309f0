"""Benchmarks of ``shiq evaluate``: the same checks by shiq and by other reasoners, as JSON and as
an HTML page.
"""
