"""What some vertices reach along arcs, one hop a round: the arcs stay in Spark, what they newly reach comes by Arrow."""

from __future__ import annotations

import numpy as np
from pyspark.sql import DataFrame

from jobs.graphframes.certificate import certify_reached
from jobs.graphframes.frames import collected, lookup, settled
from shiq.columns.arrays import Ints, without


def reached(start: Ints, arcs: DataFrame) -> Ints:
    """The vertices, ascending, that those of ``start`` (distinct) reach along ``arcs`` (src, dst).

    Stops because a vertex is reached once. Certified: see `certificate.certify_reached`.
    """
    arcs = settled(arcs.select("src", "dst"))
    hops = [start]
    while len(hops[-1]):
        met = led_to(arcs, hops[-1])
        hops.append(without(met, np.concatenate(hops)))
    found = np.concatenate(hops)
    certify_reached(start, arcs, found, np.repeat(np.arange(len(hops)), [len(hop) for hop in hops]))
    return np.sort(found)


def led_to(arcs: DataFrame, vertices: Ints) -> Ints:
    """The vertices that ``arcs`` lead to from ``vertices``, each once."""
    sources = lookup(arcs.sparkSession, {"src": vertices})
    found: Ints = collected(arcs.join(sources, "src", "left_semi").select("dst").distinct())["dst"]
    return found
