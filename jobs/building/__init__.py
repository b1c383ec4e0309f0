"""Build a large store in many tasks, each about a range of ids: `build.build`, `indexing.index`."""
