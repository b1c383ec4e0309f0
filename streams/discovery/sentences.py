"""Rules as sentences, with the labels of the ontology."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shiq.streams.discovery.atomsets import Tree, smaller_bodies, tree_of

if TYPE_CHECKING:
    from shiq.streams.discovery.settings import MinerSettings
    from shiq.streams.discovery.stream import MiningResult

_IRI = re.compile(r"<([^<>]+)>")
_SOME = re.compile(r"ObjectSomeValuesFrom\((\S+) (.*)\)")
_AND = re.compile(r"ObjectIntersectionOf\((.*)\)")
#: Of a conclusion, how many rules are shown; by which share of cases a longer rule has to be better
#: than a shorter one.
_MOST_RULES, _BETTER = 10, 0.02


def term_words(text: str, labels: Mapping[str, str]) -> str:
    """A term as a person says it: its label, else the end of its IRI, in words."""
    found = _IRI.fullmatch(text)
    if found is None:
        return text
    iri = found[1]
    return (
        labels.get(iri)
        or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", re.split(r"[#/:]", iri.rstrip("#/:"))[-1]).lower()
    )


def class_words(text: str, labels: Mapping[str, str]) -> str:
    """A class expression in words."""
    some = _SOME.fullmatch(text)
    if some is not None:
        return f"something that {term_words(some[1], labels)} {_with_article(class_words(some[2], labels))}"
    both = _AND.fullmatch(text)
    if both is not None:
        return " and ".join(class_words(part, labels) for part in _split_operands(both[1]))
    return term_words(text, labels)


def _split_operands(text: str) -> list[str]:
    found, depth, begun = [], 0, 0
    for i, letter in enumerate(f"{text} "):
        depth += (letter == "(") - (letter == ")")
        if letter == " " and not depth and i > begun:
            found.append(text[begun:i])
            begun = i + 1
    return found


def _with_article(noun: str) -> str:
    if noun.startswith(("something", "one ")):
        return noun
    return f"an {noun}" if noun[:1].lower() in "aeiou" else f"a {noun}"


def rule_sentence(rule: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """A rule of the JSON as one sentence, with its counts and an instance."""
    tree = tree_of(map(tuple, rule["body"]))
    if tree is None:
        body = (
            f"Whenever {_atoms_words(rule['body'], labels)}, {_atoms_words(rule['head'], labels)}"
        )
    else:
        subject = _describe_body(tree, labels)
        body = f"{subject[0].upper()}{subject[1:]} {_predicate_words(rule['head'][0][0], labels)}"
    share = f"{100 * rule['binding_support'] / rule['binding_body']:.0f} % of {rule['binding_body']:,} cases"
    more = f"in {rule['support']:,} of {rule['body_support']:,} snapshots, lift {rule['lift']:.3g}"
    refuted = f", refuted in {rule['refuted']:,}" if rule["refuted"] else ""
    return f"{body}: {share}, {more}{refuted}{_instance_words(rule, labels)}."


def _describe_body(tree: Tree, labels: Mapping[str, str]) -> str:
    """Whoever a body holds of, in words."""
    nouns = " and ".join(class_words(name, labels) for name in tree.classes)
    ends = [
        (term_words(role, labels), _describe_body(below, labels), inverse)
        for role, inverse, below in tree.branches
    ]
    clauses = [
        f"that {other} {verb}" if inverse else f"that {verb} {other}"
        for verb, other, inverse in ends
    ]
    return " ".join(
        [_with_article(nouns) if nouns else "something", " and ".join(clauses)]
    ).rstrip()


def _predicate_words(text: str, labels: Mapping[str, str]) -> str:
    """What a class says of its members."""
    some = _SOME.fullmatch(text)
    if some is not None:
        return f"{term_words(some[1], labels)} {_with_article(class_words(some[2], labels))}"
    return f"is {_with_article(class_words(text, labels))}"


def _atoms_words(atoms: Sequence[Sequence[str]], labels: Mapping[str, str]) -> str:
    """Atoms in words: what each term is, then how they hang together."""
    nouns: dict[str, list[str]] = {}
    for atom in atoms:
        for term in atom[1:]:
            nouns.setdefault(term, [])
        if len(atom) == 2:
            nouns[atom[1]].append(class_words(atom[0], labels))
    told = [
        f"{_term_name(term, labels)} is {' and '.join(map(_with_article, said))}"
        for term, said in nouns.items()
        if said
    ]
    links = [
        f"{_term_name(atom[1], labels)} {term_words(atom[0], labels)} {_term_name(atom[2], labels)}"
        for atom in atoms
        if len(atom) == 3
    ]
    return " and ".join([*links, *told])


def _term_name(term: str, labels: Mapping[str, str]) -> str:
    if term.startswith("?x") and term[2:].isdigit():
        number = int(term[2:])
        return "x" if number == 0 else "yzuvw"[number - 1] if number < 6 else term[1:]
    return term_words(term, labels)


def _instance_words(rule: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    if not rule["instances"]:
        return ""
    first = rule["instances"][0]
    bound = [
        term_words(value, labels) for name, value in sorted(first.items()) if name != "snapshot"
    ]
    others = f" (with {', '.join(bound[1:])})" if bound[1:] else ""
    return (
        f", e.g. {bound[0]}{others} at {first['snapshot']}"
        if bound
        else f", e.g. at {first['snapshot']}"
    )


def rules_page(result: MiningResult, labels: Mapping[str, str], settings: MinerSettings) -> str:
    """rules.md: the rules of the last window, what surprises first, and how the windows changed."""
    lines = ["# Rules", ""]
    if not result.windows:
        return "\n".join([*lines, f"No window of {settings.window:,} snapshots is full.", ""])
    last = result.windows[-1]
    rules = f"{len(last['rules']):,} rules{' that were asked for' if 'untold' in last else ''}"
    support, confidence = 100 * settings.min_support, 100 * settings.min_confidence
    lines += [
        f"Snapshots {last['window'][0]} to {last['window'][1]}: {rules} hold in at least {support:g} % of "
        f"the snapshots, and in more than {confidence:g} % of those that have their conditions; rules.parquet has them all. Here "
        f"are the first {_MOST_RULES} for each conclusion, by lift, then share of cases; a case is a snapshot and an individual. "
        "Rules that only add a condition to a better one, or suppose what they conclude of another, are left out.",
        "",
        *_rules_by_conclusion(last["rules"], labels),
        "## Windows",
        "",
        "| snapshots | rules | new | obsolete | invariant | similarity |",
        "|---|---|---|---|---|---|",
    ]
    for window in result.windows:
        changes = window["changes"] or {}
        similar = "" if window["similarity"] is None else f"{window['similarity']:.2f}"
        cells = [f"{window['window'][0]} to {window['window'][1]}", f"{len(window['rules']):,}"]
        cells += [
            f"{changes[name]:,}" if name in changes else ""
            for name in ("new", "obsolete", "invariant")
        ]
        lines.append(f"| {' | '.join([*cells, similar])} |")
    return "\n".join([*lines, ""])


def _rules_by_conclusion(
    rules: Sequence[Mapping[str, Any]], labels: Mapping[str, str]
) -> Iterator[str]:
    """The rules that tell most, under what they conclude, in the order of ``rules``."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for rule in rules:
        # A variable that need not differ from x would make it one of these for nothing.
        if rule["head"][0][0] in (atom[0] for atom in rule["body"]):
            continue
        groups.setdefault(_conclusion_words(rule, labels), []).append(rule)
    for conclusion, group in groups.items():
        yield from (f"## {_escape_markdown(conclusion)}", "")
        shown: dict[object, float] = {}
        for rule in sorted(group, key=lambda rule: len(rule["body"])):
            share = rule["binding_support"] / rule["binding_body"]
            body = tree_of(map(tuple, rule["body"])) or tuple(map(tuple, rule["body"]))
            parts = _all_smaller_bodies(body) if isinstance(body, Tree) else set()
            if all(share > shown[part] + _BETTER for part in parts if part in shown):
                shown[body] = share
        kept = [
            rule
            for rule in group
            if (tree_of(map(tuple, rule["body"])) or tuple(map(tuple, rule["body"]))) in shown
        ]
        yield from (
            f"{i}. {_escape_markdown(rule_sentence(rule, labels))}"
            for i, rule in enumerate(kept[:_MOST_RULES], 1)
        )
        yield ""


def _conclusion_words(rule: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    (head,) = rule["head"]
    return (
        f"What {_predicate_words(head[0], labels)}"
        if head[1].startswith("?")
        else _atoms_words(rule["head"], labels)
    )


def _all_smaller_bodies(tree: Tree) -> set[Tree]:
    """The bodies that lack one or more of its atoms."""
    found: set[Tree] = set()
    for less in smaller_bodies(tree):
        found |= {less} | _all_smaller_bodies(less)
    return found


def _escape_markdown(text: str) -> str:
    return text.replace("<", "&lt;").replace("|", "\\|")
