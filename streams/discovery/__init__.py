"""Learn rules from ontology streams, exactly updated while the window slides (docs/DISCOVERY.md).

>>> from shiq.streams.discovery import RuleMiner
"""

from shiq.streams.discovery.miner import RuleMiner

__all__ = ["RuleMiner"]
