"""The store of a knowledge base, built on Spark from raw triples: `build.build`, `indexing.index`."""
