"""Run an OWL RL engine in the Python environment of `make peers`: CPU seconds and entailed types,
as JSON.

``python owl_rl.py ENGINE FILE…``: the engine is reasonable or owlrl. Files are RDF/XML, or
N-Triples if the name ends in .nt, maybe gzipped. Imports nothing of shiq.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from time import process_time
from typing import Any


def close_graph(engine: str, graph: Any) -> Iterable[Any]:
    """Triples that an RDF graph entails under the rules of OWL RL."""
    if engine == "reasonable":
        import reasonable  # type: ignore[import-not-found]

        reasoner = reasonable.PyReasoner()
        reasoner.from_graph(graph)
        return reasoner.reason()
    import owlrl  # type: ignore[import-untyped]

    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    return graph


def main() -> None:
    """Read RDF files, compute their OWL RL closure, and print CPU seconds and types as JSON."""
    import rdflib

    graph = rdflib.Graph()
    for name in sys.argv[2:]:
        data = Path(name).read_bytes()
        data = gzip.decompress(data) if name.endswith(".gz") else data
        graph.parse(data=data, format="nt" if name.removesuffix(".gz").endswith(".nt") else "xml")
    begun = process_time()
    found = close_graph(sys.argv[1], graph)
    seconds = process_time() - begun
    types = [(str(s), str(o)) for s, p, o in found if str(p) == str(rdflib.RDF.type)]
    print(json.dumps({"seconds": seconds, "types": types}))


if __name__ == "__main__":
    main()
