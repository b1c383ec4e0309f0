"""Enrich events with every type that an OWL 2 DL ontology entails, reasoning once per event
structure.

Documentation: docs/ENRICHMENT.md.
"""

from shiq.streams.enrichment.answers import EnrichedEvent
from shiq.streams.enrichment.enricher import Enricher, open_enricher

__all__ = ["EnrichedEvent", "Enricher", "open_enricher"]
