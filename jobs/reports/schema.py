"""The JSON Schema of answers, and whether an answer fits it.

The words of JSON Schema (2020-12) that `verdict.schema.json` uses are the ones that are
understood here; any other is refused, so that no part of the schema goes unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

_TYPES: Final = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_SAID: Final = {"$schema", "$id", "$defs", "title", "description"}


@cache
def schema() -> dict[str, Any]:
    """The published schema."""
    found: dict[str, Any] = json.loads(
        Path(__file__).with_name("verdict.schema.json").read_text(encoding="utf-8")
    )
    return found


def problems(document: object) -> list[str]:
    """What keeps ``document`` from fitting: "place: what is wrong", at most ten."""
    found = []
    for problem in _problems(document, schema(), ""):
        found.append(problem)
        if len(found) == 10:
            break
    return found


def _problems(value: object, rule: Mapping[str, Any], place: str) -> Iterator[str]:
    where = place or "the document"
    for word, said in rule.items():
        if word == "$ref":
            yield from _problems(value, schema()["$defs"][said.removeprefix("#/$defs/")], place)
        elif word == "type":
            if not isinstance(value, _TYPES[said]) or (
                isinstance(value, bool) and said in ("integer", "number")
            ):
                yield f"{where}: not of type {said}"
                return
        elif word == "const":
            if value != said:
                yield f"{where}: {value!r} instead of {said!r}"
        elif word == "enum":
            if value not in said:
                yield f"{where}: {value!r} is none of {', '.join(map(str, said))}"
        elif word == "minimum":
            if isinstance(value, int | float) and value < said:
                yield f"{where}: {value} is less than {said}"
        elif word == "required":
            yield from (
                f"{where}: no {key!r}"
                for key in said
                if isinstance(value, dict) and key not in value
            )
        elif word == "properties":
            if isinstance(value, dict):
                for key, inner in said.items():
                    if key in value:
                        yield from _problems(value[key], inner, f"{place}/{key}")
        elif word == "additionalProperties":
            if isinstance(value, dict):
                for key, item in value.items():
                    yield from _problems(item, said, f"{place}/{key}")
        elif word == "items":
            if isinstance(value, list):
                for i, item in enumerate(value):
                    yield from _problems(item, said, f"{place}/{i}")
        elif word == "anyOf":
            tried = [list(_problems(value, inner, place)) for inner in said]
            if all(tried):
                yield from min(tried, key=len)
        elif word not in _SAID:
            raise ValueError(f"the schema has a word that is not understood: {word}")
