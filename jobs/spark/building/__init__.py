"""The store of a knowledge base, built on Spark from raw triples (ARCHITECTURE, idea 2): `build.build`, `indexing.index`."""
