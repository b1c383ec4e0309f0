"""What ``shiq evaluate`` does: runs of ours and of other reasoners on the same questions, as
JSON and as a page.
"""
