"""Mined rules as a program of stream rules (docs/RULES.md): at each point the head follows where
the body holds there.

Classes and roles are mapped by ``#rdf``, so that triples match; what T ∪ A entails of them
stands as facts. A class expression has a predicate of its own, with a rule where conjunctions
and ∃ say it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shiq import model as owl
from streams.discovery.atomsets import Atom, atoms_of
from streams.discovery.entailing import MinerKnowledge
from streams.discovery.report import RuleFinding

_IRI = re.compile(r"<([^<>]*)>")
#: Words that a literal may begin with.
_WORDS = frozenset({"not"})


@dataclass
class _Predicates:
    """Names of classes and roles, told apart by arity: the last part of an IRI, with a number
    where that is taken.
    """

    _names: dict[tuple[str, int], str] = field(default_factory=dict)
    _taken: set[tuple[str, int]] = field(default_factory=set)

    def name(self, text: str, arity: int) -> str:
        """That of a class (its text) or a role (its IRI in brackets)."""
        found = self._names.get((text, arity))
        if found is None:
            parts = [re.split("[#/:]", one)[-1] or one for one in _IRI.findall(text)] or [text]
            plain = re.sub("[^A-Za-z0-9_]", "_", "_".join(parts))
            stem = plain[0].lower() + plain[1:] if plain[0].isalpha() else f"n{plain}"
            found, number = stem, 1
            while (found, arity) in self._taken or found in _WORDS:
                number += 1
                found = f"{stem}_{number}"
            self._taken.add((found, arity))
            self._names[text, arity] = found
        return found

    def atom(self, atom: Atom) -> str:
        """An atom over variables or individuals."""
        return f"{self.name(atom[0], len(atom) - 1)}({', '.join(map(_argument, atom[1:]))})"


def _argument(text: str) -> str:
    return (
        text[1:].upper() if text.startswith("?") else f'"{text}"' if text.startswith("_:") else text
    )


def program_text(
    rules: Sequence[RuleFinding], knowledge: MinerKnowledge, window: tuple[int, int]
) -> str:
    """``rules`` of a window as a program."""
    predicates, written = _Predicates(), list[str]()
    used = {
        atom[0]: len(atom) - 1
        for each in rules
        for atom in (*atoms_of(each.rule.body), (each.rule.head, "?x0"))
    }
    definitions: list[str] = []
    for text in sorted(text for text in used if not text.startswith("<")):
        name, body = (
            predicates.name(text, 1),
            _meaning(knowledge.vocabulary[text], "?x0", iter(range(1, 1000))),
        )
        definitions.append(f"% {name}/1 is {text}{'' if body else ': no rule says who is one'}")
        if body:
            used |= {atom[0]: len(atom) - 1 for atom in body}
            definitions.append(f"{name}(X0) :- {', '.join(map(predicates.atom, body))}.")
    for found in rules:
        rule = found.rule
        body_text = ", ".join(map(predicates.atom, atoms_of(rule.body)))
        written.append(
            f"% {rule.support} of {rule.body_support} snapshots, {rule.binding_support} of {rule.binding_body} cases"
        )
        written.append(f"{predicates.atom((rule.head, '?x0'))} :- {body_text}.")
    mapped = [
        f"#rdf {predicates.name(text, n)}/{n} = {text}."
        for text, n in sorted(used.items())
        if text.startswith("<")
    ]
    facts = sorted(
        f"{predicates.atom(atom)}."
        for atom in knowledge.base or ()
        if used.get(atom[0]) == len(atom) - 1
    )
    return "\n".join(
        [f"% snapshots {window[0]} to {window[1]}", *mapped, *definitions, *written, *facts, ""]
    )


def _meaning(
    expression: owl.ClassExpression, own: str, numbers: Iterator[int]
) -> list[Atom] | None:
    """The atoms that say that a variable is in a class expression; None where atoms do not."""
    match expression:
        case owl.Class(name):
            return [] if expression == owl.THING else [(f"<{name}>", own)]
        case owl.ObjectIntersectionOf(operands):
            parts = [_meaning(operand, own, numbers) for operand in operands]
            return (
                None
                if any(part is None for part in parts)
                else [atom for part in parts for atom in part or ()]
            )
        case owl.ObjectSomeValuesFrom(role, filler):
            other = f"?x{next(numbers)}"
            below = _meaning(filler, other, numbers)
            ends = (other, own) if isinstance(role, owl.ObjectInverseOf) else (own, other)
            named = role.property if isinstance(role, owl.ObjectInverseOf) else role
            return None if below is None else [(f"<{named.iri}>", *ends), *below]
    return None
