"""Describe rules as English sentences with the labels of the ontology."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shiq.streams.discovery.atomsets import BodyTree, atoms_to_tree, smaller_bodies

if TYPE_CHECKING:
    from shiq.streams.discovery.settings import MinerSettings
    from shiq.streams.discovery.stream import MiningResult

_IRI_PATTERN = re.compile(r"<([^<>]+)>")
_SOME_PATTERN = re.compile(r"ObjectSomeValuesFrom\((\S+) (.*)\)")
_AND_PATTERN = re.compile(r"ObjectIntersectionOf\((.*)\)")
#: Of a conclusion, how many rules are shown; by which share of cases a longer rule has to be better
#: than a shorter one.
_MOST_RULES, _LEAST_GAIN = 10, 0.02


def describe_term(text: str, labels: Mapping[str, str]) -> str:
    """Words for a term: its label, or the end of its IRI split into words."""
    found = _IRI_PATTERN.fullmatch(text)
    if found is None:
        return text
    iri = found[1]
    return (
        labels.get(iri)
        or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", re.split(r"[#/:]", iri.rstrip("#/:"))[-1]).lower()
    )


def describe_class(text: str, labels: Mapping[str, str]) -> str:
    """Words for a class expression."""
    some = _SOME_PATTERN.fullmatch(text)
    if some is not None:
        return f"something that {describe_term(some[1], labels)} {_add_article(describe_class(some[2], labels))}"
    both = _AND_PATTERN.fullmatch(text)
    if both is not None:
        return " and ".join(describe_class(part, labels) for part in _split_operands(both[1]))
    return describe_term(text, labels)


def _split_operands(text: str) -> list[str]:
    """Split the operands of an expression in functional syntax."""
    found, depth, begun = [], 0, 0
    for i, letter in enumerate(f"{text} "):
        depth += (letter == "(") - (letter == ")")
        if letter == " " and not depth and i > begun:
            found.append(text[begun:i])
            begun = i + 1
    return found


def _add_article(noun: str) -> str:
    """Noun with its indefinite article."""
    if noun.startswith(("something", "one ")):
        return noun
    return f"an {noun}" if noun[:1].lower() in "aeiou" else f"a {noun}"


def describe_rule(rule: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Describe a JSON rule as one sentence with counts and an example."""
    tree = atoms_to_tree(map(tuple, rule["body"]))
    if tree is None:
        body = f"Whenever {_describe_atoms(rule['body'], labels)}, {_describe_atoms(rule['head'], labels)}"
    else:
        subject = _describe_body(tree, labels)
        body = f"{subject[0].upper()}{subject[1:]} {_describe_head(rule['head'][0][0], labels)}"
    share = f"{100 * rule['binding_support'] / rule['binding_body']:.0f} % of {rule['binding_body']:,} cases"
    more = f"in {rule['support']:,} of {rule['body_support']:,} snapshots, lift {rule['lift']:.3g}"
    refuted = f", refuted in {rule['refuted']:,}" if rule["refuted"] else ""
    return f"{body}: {share}, {more}{refuted}{_describe_instance(rule, labels)}."


def _describe_body(tree: BodyTree, labels: Mapping[str, str]) -> str:
    """Noun phrase for the individuals in a body."""
    nouns = " and ".join(describe_class(name, labels) for name in tree.classes)
    ends = [
        (describe_term(role, labels), _describe_body(below, labels), inverse)
        for role, inverse, below in tree.branches
    ]
    clauses = [
        f"that {other} {verb}" if inverse else f"that {verb} {other}"
        for verb, other, inverse in ends
    ]
    return " ".join([_add_article(nouns) if nouns else "something", " and ".join(clauses)]).rstrip()


def _describe_head(text: str, labels: Mapping[str, str]) -> str:
    """Verb phrase for the members of a class."""
    some = _SOME_PATTERN.fullmatch(text)
    if some is not None:
        return f"{describe_term(some[1], labels)} {_add_article(describe_class(some[2], labels))}"
    return f"is {_add_article(describe_class(text, labels))}"


def _describe_atoms(atoms: Sequence[Sequence[str]], labels: Mapping[str, str]) -> str:
    """Clauses for atoms: links between terms, then their classes."""
    nouns: dict[str, list[str]] = {}
    for atom in atoms:
        for term in atom[1:]:
            nouns.setdefault(term, [])
        if len(atom) == 2:
            nouns[atom[1]].append(describe_class(atom[0], labels))
    told = [
        f"{_term_name(term, labels)} is {' and '.join(map(_add_article, said))}"
        for term, said in nouns.items()
        if said
    ]
    links = [
        f"{_term_name(atom[1], labels)} {describe_term(atom[0], labels)} {_term_name(atom[2], labels)}"
        for atom in atoms
        if len(atom) == 3
    ]
    return " and ".join([*links, *told])


def _term_name(term: str, labels: Mapping[str, str]) -> str:
    """Short name of a variable, or words for an individual."""
    if term.startswith("?x") and term[2:].isdigit():
        number = int(term[2:])
        return "x" if number == 0 else "yzuvw"[number - 1] if number < 6 else term[1:]
    return describe_term(term, labels)


def _describe_instance(rule: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Words for the first example instance of a rule."""
    if not rule["instances"]:
        return ""
    first = rule["instances"][0]
    bound = [
        describe_term(value, labels) for name, value in sorted(first.items()) if name != "snapshot"
    ]
    others = f" (with {', '.join(bound[1:])})" if bound[1:] else ""
    return (
        f", e.g. {bound[0]}{others} at {first['snapshot']}"
        if bound
        else f", e.g. at {first['snapshot']}"
    )


def render_rules_page(
    result: MiningResult, labels: Mapping[str, str], settings: MinerSettings
) -> str:
    """Markdown page with the rules of the last window, by conclusion, and a table of all windows."""
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
        *_list_rules_by_conclusion(last["rules"], labels),
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


def _list_rules_by_conclusion(
    rules: Sequence[Mapping[str, Any]], labels: Mapping[str, str]
) -> Iterator[str]:
    """Yield lines of Markdown: the most informative rules, under headings of their conclusions."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for rule in rules:
        # A variable that need not differ from x would make it one of these for nothing.
        if rule["head"][0][0] in (atom[0] for atom in rule["body"]):
            continue
        groups.setdefault(_describe_conclusion(rule, labels), []).append(rule)
    for conclusion, group in groups.items():
        yield from (f"## {_escape_markdown(conclusion)}", "")
        shown: dict[object, float] = {}
        for rule in sorted(group, key=lambda rule: len(rule["body"])):
            share = rule["binding_support"] / rule["binding_body"]
            body = atoms_to_tree(map(tuple, rule["body"])) or tuple(map(tuple, rule["body"]))
            parts = _all_smaller_bodies(body) if isinstance(body, BodyTree) else set()
            if all(share > shown[part] + _LEAST_GAIN for part in parts if part in shown):
                shown[body] = share
        kept = [
            rule
            for rule in group
            if (atoms_to_tree(map(tuple, rule["body"])) or tuple(map(tuple, rule["body"]))) in shown
        ]
        yield from (
            f"{i}. {_escape_markdown(describe_rule(rule, labels))}"
            for i, rule in enumerate(kept[:_MOST_RULES], 1)
        )
        yield ""


def _describe_conclusion(rule: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Heading for the head of a rule."""
    (head,) = rule["head"]
    return (
        f"What {_describe_head(head[0], labels)}"
        if head[1].startswith("?")
        else _describe_atoms(rule["head"], labels)
    )


def _all_smaller_bodies(tree: BodyTree) -> set[BodyTree]:
    """All bodies that lack one or more atoms of a body."""
    found: set[BodyTree] = set()
    for less in smaller_bodies(tree):
        found |= {less} | _all_smaller_bodies(less)
    return found


def _escape_markdown(text: str) -> str:
    """Escape characters with a meaning in Markdown."""
    return text.replace("<", "&lt;").replace("|", "\\|")
