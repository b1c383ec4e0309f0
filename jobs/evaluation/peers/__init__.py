"""Peers, the other reasoners and miners that shiq is compared with: install them, ask them, and
read their answers.

Pellet and Openllet check the base and then, incrementally, the batch; HermiT and Konclude check
base and batch together, from scratch.
"""
