"""What the TBox says of labels and assertions, for Spark's workers: functions of texts and
numbers, as Arrow functions.

A literal travels as a number, 2·atom, + 1 where it is negated; a label as its literals with
commas between. So each distinct combination is worked out once a batch.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, cast

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import Column
from pyspark.sql.pandas import functions as arrow

from abox_ops.elements.normal import normalise
from abox_ops.labels.calculus import Label, contradiction
from abox_ops.labels.numbered import combinations
from abox_ops.published.definitions import Definition7
from jobs.spark.imports import spare_imports
from jobs.spark.worker import kept
from shiq import model as owl
from shiq.bits import bits
from shiq.clause import ClausalTBox
from shiq.datatypes import DataTheory
from shiq.model_json import decode
from shiq.roles import Role, RoleBox, role_of

#: What `WorkerRules.normal` gives, as Spark has it.
NORMAL = "array<struct<kind: string, name: bigint, other: string, lexical: string, datatype: string, language: string>>"


def literals_in(label: Label) -> Iterator[int]:
    """The numbers of the literals of ``label``."""
    return (2 * bit + sign for sign, mask in enumerate(label) for bit in bits(mask))


@lru_cache(maxsize=1 << 18)
def label_of(text: str) -> Label:
    """The label whose literals stand in ``text``."""
    masks = [0, 0]
    for number in map(int, filter(None, (text or "").split(","))):
        masks[number % 2] |= 1 << number // 2
    return masks[0], masks[1]


def arrow_column(work: Callable[..., str], *columns: Column) -> Column:
    """``work`` of each row of ``columns``, a text; asked once for what a batch has several times."""

    # No type hints: Spark would read them.
    def of_batch(*batch):  # type: ignore[no-untyped-def]
        spare_imports()
        encoded = [column.dictionary_encode(null_encoding="encode") for column in batch]
        values = [column.dictionary.to_pylist() for column in encoded]
        found, which = combinations(
            *(column.indices.to_numpy(zero_copy_only=False) for column in encoded)
        )
        results = [work(*(known[i] for known, i in zip(values, row))) for row in found]
        return pa.array(results, pa.string()).take(pa.array(which))

    made: Any = arrow.arrow_udf(of_batch, "string")  # type: ignore[call-overload]
    return cast("Column", made(*columns))


@dataclass(frozen=True)
class WorkerRules:
    """Definitions 5 to 7 for one batch, as workers ask for them. ``roles``: the role of each
    role number; ``class_literals``: the literals that an assertion of each class number gives;
    ``token`` names it in a worker's memory.
    """

    tbox: ClausalTBox
    box: RoleBox
    rules: Definition7
    roles: tuple[Role, ...]
    properties: tuple[str, ...]
    class_literals: tuple[tuple[int, ...], ...]
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @cached_property
    def clash(self) -> tuple[int, ...]:
        """The literals of a contradiction."""
        return tuple(literals_in(contradiction(self.tbox)))

    def literal(self, iri: str, *, positive: bool) -> tuple[int, ...]:
        """The literals of an assertion on a name, or on its negation."""
        if iri in (owl.NOTHING.iri, owl.THING.iri):
            return self.clash if positive == (iri == owl.NOTHING.iri) else ()
        return (2 * self.tbox.atom_ids[iri] + (not positive),)

    def outcome(
        self, role: int, src: str, dst: str, inserted: bool, before_src: str, before_dst: str
    ) -> str:
        """What becomes of a role assertion between elements with these asserted labels
        (`Definition7.outcome`): K where it is kept, S and D where its ends enter, and each
        remedy, s or d for its end and the number of the literal.
        """
        old = None if inserted else (label_of(before_src), label_of(before_dst))
        found = self.rules.outcome(self.roles[role], label_of(src), label_of(dst), old)
        remedies = (
            f" {'sd'[at_object]}{number}"
            for at_object, name, positive in found.remedies
            for number in self.literal(name, positive=positive)
        )
        return (
            "K" * found.kept
            + "S" * found.subject_enters
            + "D" * found.object_enters
            + "".join(remedies)
        )

    def normal(self, value: str, term: str) -> str:
        """What a complex or negative assertion, as JSON, comes to at the individual ``term``, as
        JSON (`NORMAL`): literals, and negative assertions of which it is the subject; and, of
        kind value, the assertion itself, at its subject where it has an object.
        """
        numbers = {role: i for i, role in enumerate(self.roles)}
        assertion = decode(json.loads(value))
        found: list[Mapping[str, object]] = []
        if not isinstance(assertion, owl.NegativeObjectPropertyAssertion):
            found.append({"kind": "value"})
        elif assertion.subject == term:
            found.append({"kind": "value", "other": assertion.object})
        for plain in normalise(assertion, self.box).assertions:
            match plain:
                case owl.ClassAssertion(expression, individual) if individual == term:
                    name = (
                        expression.operand
                        if isinstance(expression, owl.ObjectComplementOf)
                        else expression
                    )
                    assert isinstance(name, owl.Class)
                    literals = self.literal(name.iri, positive=name is expression)
                    found += ({"kind": "literal", "name": number} for number in literals)
                case owl.NegativeObjectPropertyAssertion(property, subject, object):
                    role = role_of(property)
                    a, b = (object, subject) if role.inverted else (subject, object)
                    if a == term:
                        found.append(
                            {
                                "kind": "no role",
                                "name": numbers[role.inverse if role.inverted else role],
                                "other": b,
                            }
                        )
                case owl.NegativeDataPropertyAssertion(property, subject, literal) if (
                    subject == term
                ):
                    number = self.properties.index(property.iri)
                    text = {
                        "lexical": literal.lexical,
                        "datatype": literal.datatype,
                        "language": literal.language,
                    }
                    found.append({"kind": "no data", "name": number, **text})
        return json.dumps(found)

    def ill_typed(self, lexical: str, datatype: str, language: str) -> str:
        """A text where a literal denotes nothing; empty where it denotes something."""
        theory = kept(
            "theory", self.token, lambda: DataTheory(self.tbox.definitions, self.tbox.roles)
        )
        return "ill-typed" * theory.is_ill_typed(owl.Literal(lexical, datatype, language))
