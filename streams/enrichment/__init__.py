"""Events enriched with every type that follows of an OWL 2 DL ontology, reasoned once a
structure (docs/ENRICHMENT.md).
"""

from shiq.streams.enrichment.answers import EnrichedEvent
from shiq.streams.enrichment.enricher import Enricher, open_enricher

__all__ = ["EnrichedEvent", "Enricher", "open_enricher"]
