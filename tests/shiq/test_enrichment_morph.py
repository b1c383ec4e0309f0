"""Mappings beside morph-kgc, in an environment of its own: both make the same triples of the
same records.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shiq.rml.inputs import compile_mapping
from shiq.rml.program import parse_record

PREFIXES = (
    "@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> . "
    "@prefix ql: <http://semweb.mmlab.be/ns/ql#> . @prefix : <urn:t#> . "
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
)
#: How a term can be made of a record.
TERMS = (
    'rml:reference "name"',
    'rml:reference "name" ; rr:language "de"',
    'rml:reference "n" ; rr:datatype xsd:integer',
    'rml:reference "in.deep"',
    'rr:template "is {name}, {n}" ; rr:termType rr:Literal',
    'rr:template "http://x/{name}/{n}"',
    'rml:reference "iri" ; rr:termType rr:IRI',
    "rr:constant :c",
    'rr:constant "text"',
    'rr:parentTriplesMap :room ; rr:joinCondition [ rr:child "room" ; rr:parent "room" ]',
)


@pytest.fixture(scope="module")
def morph(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python that has morph-kgc: `SHIQ_MORPH_KGC`, or one that is made."""
    given = os.environ.get("SHIQ_MORPH_KGC")
    if given is not None:
        return given
    python = tmp_path_factory.mktemp("morph") / "bin" / "python"
    for command in (
        [sys.executable, "-m", "venv", str(python.parent.parent)],
        [str(python), "-m", "pip", "install", "-q", "morph-kgc>=2.9,<3"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"morph-kgc cannot be had here: {done.stderr.strip().splitlines()[-1:]}")
    return str(python)


def _mapping(rng: random.Random) -> str:
    pairs = "".join(
        f" ; rr:predicateObjectMap [ rr:predicate :p{i} ; rr:objectMap [ {rng.choice(TERMS)} ] ]"
        for i in range(rng.randrange(1, 6))
    )
    return (
        PREFIXES
        + ':m rml:logicalSource [ rml:source "records.json" ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$[*]" ] ;'
        + f' rr:subjectMap [ rr:template "http://x/{{id}}" ; rr:class :Record ]{pairs} .\n'
        + ':room rml:logicalSource [ rml:source "rooms.csv" ; rml:referenceFormulation ql:CSV ] ;'
        + ' rr:subjectMap [ rr:template "http://x/room/{room}" ] ;'
        + ' rr:predicateObjectMap [ rr:predicate :called ; rr:objectMap [ rml:reference "name" ] ] .\n'
    )


def _records(rng: random.Random) -> list[dict[str, Any]]:
    names = ("plain", "two words", "a/b", "50 %", 'quote " and \\', "ünïcode", "tilde~")
    return [
        {
            "id": f"r{i}",
            "name": rng.choice(names),
            "n": rng.randrange(100),
            "in": {"deep": rng.choice(names)},
            "iri": f"urn:i:{rng.randrange(5)}",
            "room": f"{rng.randrange(4)}a",
        }
        for i in range(8)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_triples_are_those_of_morph_kgc(seed: int, tmp_path: Path, morph: str) -> None:
    rng = random.Random(f"morph {seed}")
    records = _records(rng)
    (tmp_path / "m.ttl").write_text(_mapping(rng))
    (tmp_path / "records.json").write_text(json.dumps(records))
    (tmp_path / "rooms.csv").write_text("room,name\n0a,first\n1a,second one\n1a,twice\n")
    (tmp_path / "c.ini").write_text(
        "[CONFIGURATION]\noutput_file=out.nt\nlogging_level=ERROR\n[D]\nmappings=m.ttl\n"
    )
    done = subprocess.run(
        [morph, "-m", "morph_kgc", "c.ini"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    program, lines = compile_mapping(tmp_path / "m.ttl", "records.json")
    ours = {
        f"{s} {p} {o} ."
        for r in records
        for s, p, o in program.statements(parse_record(json.dumps(r)))
    } | {*lines}
    assert ours == {
        line.strip()
        for line in (tmp_path / "out.nt").read_text(encoding="utf-8").splitlines()
        if line.strip()
    }
