"""Rules of the TBox for labels and assertions, as Arrow functions for Spark's workers.

A literal is a number, 2·atom, plus 1 if negated; a label is a text of its literals with commas
between. So each distinct combination is computed once a batch.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from typing import cast

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column
from pyspark.sql.pandas import functions as arrow

from shiq import model as owl
from shiq.abox_ops.elements.graph import ComplexFacts
from shiq.abox_ops.elements.normal_assertions import normalise
from shiq.abox_ops.labels.label_calculus import Label, literal_label
from shiq.abox_ops.published.remedies import Definition7
from shiq.datatypes import DataTheory
from shiq.jobs.building.worker import cached_value, skip_repeated_imports
from shiq.model.abox import individuals_of
from shiq.model.as_json import decode
from shiq.model.clause import ClausalTBox
from shiq.model.roles import Role, RoleBox
from shiq.support import bits

#: What `WorkerRules.normal` gives, as Spark has it.
NORMAL = "array<struct<kind: string, name: bigint, other: string, lexical: string, datatype: string, language: string>>"


@lru_cache(maxsize=1 << 18)
def parse_label(text: str) -> Label:
    """Parse a label from the numbers of its literals, separated by commas."""
    masks = [0, 0]
    for number in map(int, filter(None, (text or "").split(","))):
        masks[number % 2] |= 1 << number // 2
    return masks[0], masks[1]


def arrow_column(work: Callable[..., str], *columns: Column) -> Column:
    """Make a column of the texts that ``work`` computes from each row of ``columns``; computed once
    for equal rows of a batch.
    """

    # No type hints: Spark would read them.
    def of_batch(*batch):  # type: ignore[no-untyped-def]
        skip_repeated_imports()
        rows = list(zip(*(column.to_pylist() for column in batch)))
        known = {row: work(*row) for row in set(rows)}
        return pa.array([known[row] for row in rows], pa.string())

    return cast("Column", arrow.arrow_udf(of_batch, "string")(*columns))  # type: ignore[call-overload]


@dataclass(frozen=True)
class WorkerRules:
    """Rules of the published procedure (Definitions 5 to 7 in THEORY) for one batch, as Spark's
    workers apply them: literals of assertions, and what becomes of a role assertion.

    roles, properties, classes: name of each number in the tables.
    token: key of these rules in the cache of a worker.
    """

    tbox: ClausalTBox
    box: RoleBox
    rules: Definition7
    roles: tuple[Role, ...]
    properties: tuple[str, ...]
    classes: tuple[str, ...]
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @cached_property
    def contradiction_text(self) -> tuple[int, ...]:
        """Numbers of the literals that a contradictory label has."""
        return self.name_literals(owl.NOTHING.iri, positive=True)

    def name_literals(self, iri: str, *, positive: bool) -> tuple[int, ...]:
        """Numbers of the literals that an assertion on the class ``iri`` gives, or on its negation."""
        masks = enumerate(literal_label(self.tbox, iri, positive))
        return tuple(2 * bit + sign for sign, mask in masks for bit in bits(mask))

    def encode_edge_outcome(
        self, role: int, src: str, dst: str, inserted: bool, before_src: str, before_dst: str
    ) -> str:
        """Encode the decision on a role assertion between elements with these asserted labels:
        whether it is kept, and which ends enter the procedure (`Definition7.outcome`).

        K: it is kept. S, D: its subject or object enters the procedure. Each remedy is s or d for
        its end, and the number of the literal.
        """
        old = None if inserted else (parse_label(before_src), parse_label(before_dst))
        found = self.rules.outcome(self.roles[role], parse_label(src), parse_label(dst), old)
        remedies = (
            f" {'sd'[at_object]}{number}"
            for at_object, name, positive in found.remedies
            for number in self.name_literals(name, positive=positive)
        )
        return (
            "K" * found.is_kept
            + "S" * found.subject_enters
            + "D" * found.object_enters
            + "".join(remedies)
        )

    def normal_form(self, value: str, term: str) -> str:
        """Normalise a complex or negative assertion (JSON) at the individual ``term``. Returns
        JSON.

        It has the fields of `NORMAL`: literals, and negative assertions with the subject ``term``.
        An assertion with an object also gives itself, of the kind value, at its subject.
        """
        assertion = decode(json.loads(value))
        terms, plain = [*individuals_of(assertion)], ComplexFacts()
        for each in normalise(assertion, self.box).assertions:
            plain.add_assertion(each, terms.index(term), term, False, terms.index)
        found: list[dict[str, object]] = [
            {"kind": "literal", "name": number}
            for _, (iri, positive), _ in plain.literals
            for number in self.name_literals(iri, positive=positive)
        ]
        found += (
            {"kind": "no role", "name": self.roles.index(role), "other": terms[other]}
            for _, role, other in plain.negative_edges
            if not role.is_inverse
        )
        found += (
            {"kind": "no data", "name": self.properties.index(property), **asdict(literal)}
            for _, property, literal in plain.negative_data
        )
        is_pair = isinstance(assertion, owl.NegativeObjectPropertyAssertion)
        if not is_pair or assertion.subject == term:
            found.append({"kind": "value", "other": assertion.object if is_pair else None})
        return json.dumps(found)

    def ill_typed(self, lexical: str, datatype: str, language: str) -> str:
        """Return a non-empty text if a literal is ill-typed, else ""."""
        theory = cached_value(
            "theory", self.token, lambda: DataTheory(self.tbox.definitions, self.tbox.roles)
        )
        return "ill-typed" * theory.is_ill_typed(owl.Literal(lexical, datatype, language))
