"""Rules learnt from ontology streams, kept exact while the window slides (docs/DISCOVERY.md).

>>> from streams.discovery import RuleMiner
"""

from streams.discovery.miner import RuleMiner

__all__ = ["RuleMiner"]
