"""Run other reasoners for comparison: install them, ask them, and read their answers.

Pellet and Openllet check the base and then, incrementally, the batch; HermiT and Konclude check
base and batch together, from scratch.
"""
