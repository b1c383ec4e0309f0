"""Other reasoners, to measure beside: what they are asked, what they answered, and how they are
installed.

Pellet and Openllet check the base and then, incrementally, the batch; HermiT and Konclude check
base and batch together, from scratch.
"""
