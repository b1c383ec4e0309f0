"""The state of an engine as bytes: JSON, and numpy arrays without objects.

All that later points depend on is the time and what the points within the horizons keep; the
rest follows from the program at the next step. So a state is small, and does not know how the
engine counts.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any, Final

import numpy as np

from shiq.columns.arrays import Ints, unique
from shiq.errors import OperationalError
from streams.rules.dictionary import FIRST, ConstantDictionary
from streams.rules.predicates import Predicate

_SCHEMA: Final = 1
_HEAD: Final = "head"


def saved(
    origin: int | None, point: int, predicates: dict[str, Predicate], dictionary: ConstantDictionary
) -> bytes:
    """The state as bytes."""
    arrays: dict[str, Ints] = {}
    names: list[str] = []
    used: list[Ints] = []
    for name, predicate in predicates.items():
        history = predicate.history
        if not history.points:
            continue
        place = f"{len(names)}"
        names.append(name)
        kept = unique(np.concatenate(history.rows))
        columns = predicate.relation.at(kept)
        used += columns
        arrays[f"{place}.points"] = np.array(history.points, np.int64)
        arrays[f"{place}.lengths"] = np.array([len(rows) for rows in history.rows], np.int64)
        arrays[f"{place}.rows"] = np.searchsorted(kept, np.concatenate(history.rows))
        for i, column in enumerate(columns):
            arrays[f"{place}.{i}"] = column
    codes = (
        unique(np.concatenate([column[column >= FIRST] for column in used]))
        if used
        else np.zeros(0, np.int64)
    )
    head = {
        "schema_version": _SCHEMA,
        "origin": origin,
        "point": point,
        "predicates": names,
        "constants": dictionary.decode(codes),
    }
    arrays["codes"] = codes
    file = io.BytesIO()
    np.savez(file, **{_HEAD: np.frombuffer(json.dumps(head).encode(), np.uint8)}, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def put_back(
    state: bytes, predicates: dict[str, Predicate], dictionary: ConstantDictionary
) -> tuple[int | None, int]:
    """Fills the histories of ``predicates``; gives origin and point. Raises: OperationalError."""
    try:
        with np.load(io.BytesIO(state), allow_pickle=False) as found:
            head = json.loads(found[_HEAD].tobytes())
            if head["schema_version"] != _SCHEMA:
                raise ValueError(f"schema_version {head['schema_version']}")
            codes, new = found["codes"], dictionary.encode(head["constants"])
            for place, name in enumerate(head["predicates"]):
                predicate = predicates[name]
                columns = [found[f"{place}.{i}"] for i in range(len(predicate.relation.columns))]
                _fill(predicate, [_recoded(column, codes, new) for column in columns], found, place)
            return head["origin"], int(head["point"])
    except (
        ValueError,
        KeyError,
        TypeError,
        EOFError,
        OSError,
        IndexError,
        zipfile.BadZipFile,
    ) as error:
        raise OperationalError(
            f"this is no state of an evaluator ({error})", "Start anew."
        ) from error


def _recoded(column: Ints, codes: Ints, new: Ints) -> Ints:
    texts = np.flatnonzero(column >= FIRST)
    column[texts] = new[np.searchsorted(codes, column[texts])]
    return column


def _fill(predicate: Predicate, columns: list[Ints], found: Any, place: int) -> None:
    numbers = predicate.relation.add(columns)[found[f"{place}.rows"]]
    predicate.history.points = found[f"{place}.points"].tolist()
    predicate.history.rows = np.split(numbers, np.cumsum(found[f"{place}.lengths"])[:-1])
