"""Events enriched with every type that follows of an OWL 2 DL ontology, reasoned once a
structure (docs/ENRICHMENT.md).
"""

from streams.enrichment.answers import EnrichedEvent
from streams.enrichment.enricher import Enricher
from streams.enrichment.opening import open_enricher

__all__ = ["EnrichedEvent", "Enricher", "open_enricher"]
