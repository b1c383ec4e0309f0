"""What the triples of a graph map to: axioms and assertions, each with the triples and expressions that it rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from shiq import model as owl
from shiq.rdf.expression_loop import Key

V = TypeVar("V", bound=owl.Axiom | owl.Assertion)


@dataclass
class MappedValue(Generic[V]):
    """An axiom or assertion, the main triple it came from, its other triples, and the expressions it uses."""

    value: V
    main: int
    triples: list[int] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)


@dataclass(frozen=True)
class Failure:
    """A main triple that gives nothing."""

    main: int
    kind: str
    message: str
    hint: str


@dataclass
class Mapping:
    """What the main triples of a graph give. ``annotations`` say nothing that a model could see; ``suspects`` are assertions that
    are taken as they stand, but were probably meant otherwise: the names of classes and properties in them, and why."""

    axioms: list[MappedValue[owl.Axiom]] = field(default_factory=list)
    assertions: list[MappedValue[owl.Assertion]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    annotations: list[int] = field(default_factory=list)
    suspects: list[tuple[MappedValue[owl.Assertion], tuple[str, ...], str]] = field(default_factory=list)
