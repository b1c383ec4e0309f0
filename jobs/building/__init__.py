"""Build a store from triples, range by range: `build.build`, `indexing.index`."""
