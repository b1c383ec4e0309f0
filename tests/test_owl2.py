"""The W3C OWL 2 test cases inside SHIQ(D), read and decided as a user would: none wrong; what is left open is said.

The cases and their expected verdicts are in the data folder (setting SHIQ_DATA).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiq.check import certify
from shiq.verdict import Verdict

#: Seconds for one case; what needs longer is undetermined.
LIMIT = 5.0

#: OWL 2 DL cases that may end undetermined: not declared as OWL 2 DL asks, with structures that no axiom uses, or beyond the
#: budget of `own`.
OPEN = {
    "rdfbased-sem-eqdis-eqprop-subprop-1",
    "rdfbased-sem-eqdis-eqprop-sym",
    "rdfbased-sem-eqdis-eqprop-trans",
    "WebOnt-FunctionalProperty-005",
    "WebOnt-I5.26-006",
    "WebOnt-I5.5-004",
    "WebOnt-description-logic-201",
    "WebOnt-description-logic-203",
    "WebOnt-description-logic-204",
    "WebOnt-description-logic-664",
    "WebOnt-sameAs-001",
}


def cases(data_path: Path) -> list[dict[str, str]]:
    index = json.loads((data_path / "owl2tests" / "index.json").read_text())
    return [case for case in index if case["shiqd"] and "DIRECT" in case["semantics"]]


def test_none_is_wrong(data_path: Path, subtests: pytest.Subtests) -> None:
    undetermined = []
    chosen = cases(data_path)
    for case in chosen:
        with subtests.test(id=case["id"]):
            result = certify(
                data_path / "owl2tests" / case["premise"], reasoner="own", timeout=LIMIT, max_conflicts=0, engine="memory"
            )
            if result.verdict is Verdict.UNDETERMINED:
                undetermined += [case["id"]] if case["owl2dl"] == "true" else []
                assert result.reason
            else:
                assert result.verdict.value == case["expected"]
    assert set(undetermined) <= OPEN
