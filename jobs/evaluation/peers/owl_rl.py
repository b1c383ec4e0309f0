"""An OWL RL engine beside ours, run by the Python that `make peers` gave it: CPU seconds and types,
as JSON.

``python owl_rl.py ENGINE FILE…``: reasonable or owlrl; RDF/XML, or N-Triples where the name ends
so, maybe packed. Imports nothing of ours.
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
    """Return the triples that follow of ``graph``."""
    if engine == "reasonable":
        import reasonable  # type: ignore[import-not-found]

        reasoner = reasonable.PyReasoner()
        reasoner.from_graph(graph)
        found: Iterable[Any] = reasoner.reason()
        return found
    import owlrl  # type: ignore[import-untyped]

    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    triples: Iterable[Any] = graph
    return triples


def main() -> None:
    """Read the files, reason, print the types."""
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
