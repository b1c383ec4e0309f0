"""Tools of the tests: random ontologies, differential tests, benchmarks."""
