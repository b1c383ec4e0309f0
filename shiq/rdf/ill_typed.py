"""Data assertions whose literal denotes nothing, in the columns."""

from __future__ import annotations

from typing import cast

import numpy as np

from shiq.datatypes import DataTheory, IllTyped
from shiq.model import Literal
from shiq.rdf.bulk import Bulk
from shiq.rdf.triples import Triples, column


def take_ill_typed(triples: Triples, bulk: Bulk) -> None:
    """Sets the data assertions of ``bulk`` aside whose lexical form is none of their datatype."""
    theory = DataTheory()
    values = column(triples.object)[bulk.data]
    bad = [
        i
        for i in np.unique(values).tolist()
        if isinstance(theory.value(cast(Literal, triples.terms[i])), IllTyped)
    ]
    gone = np.isin(values, np.array(bad, np.int64))
    bulk.ill_typed = bulk.data[gone].tolist()
    bulk.data = bulk.data[~gone]
