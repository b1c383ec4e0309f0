"""Random misspellings of own terms, and random documents with foreign terms and properties of
open kind.

Every misspelt own term blocks. A verdict is the one of the same document with all kinds declared
by hand.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shiq.answers.verdict import Verdict
from shiq.api import certify
from shiq.rdf import read_ontology
from shiq.rdf.namespaces import OwnNamespaces, SlipFinder, is_slip_of, namespace_of

SPACES = (
    *(
        "http://example.org/onto#",
        "http://example.org/terms/",
        "https://w3id.org/brick/x#",
        "urn:my:",
    ),
    *(
        "http://purl.obolibrary.org/obo/BFO_",
        "http://purl.obolibrary.org/obo/GO_",
        "http://data.ashrae.org/bacnet/2020#",
    ),
)
FOREIGN = (
    "http://elsewhere.net/v#",
    "http://www.ontologydesignpatterns.org/cp/owl/part.owl#",
    "https://saref.etsi.org/core/",
)
WORDS = (
    "Cat",
    "Dog",
    "Person",
    "hasPart",
    "likes",
    "Temperature_Sensor",
    "p",
    "A",
    "measures",
    "Zone",
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def own_name(dice: random.Random, space: str) -> str:
    return space + (f"{dice.randrange(10**7):07}" if space.endswith("_") else dice.choice(WORDS))


def edited(dice: random.Random, text: str) -> str:
    """``text`` with a letter more, less, exchanged, or two in the wrong order."""
    i, letter = dice.randrange(len(text)), dice.choice(LETTERS)
    swapped = text[:i] + text[i + 1 : i + 2] + text[i] + text[i + 2 :]
    return dice.choice(
        [
            text[:i] + text[i + 1 :],
            text[:i] + letter + text[i:],
            text[:i] + letter + text[i + 1 :],
            swapped,
        ]
    )


def misspelt(dice: random.Random, iri: str) -> str:
    space = namespace_of(iri)
    local = iri[len(space) :]
    other = "/" if space[-1] == "#" else "#"
    return dice.choice(
        [
            *(
                edited(dice, iri),
                edited(dice, edited(dice, iri)),
                space + edited(dice, local),
                edited(dice, space) + local,
            ),
            *(
                iri.replace("http:", "https:"),
                iri.replace("://", "://www."),
                space[:-1] + local,
                space[:-1] + other + local,
            ),
            *(
                space + local.lower(),
                iri.upper(),
                space + iri,
                space + local + "s",
                space + local + "/x",
            ),
        ]
    )


def distance(first: str, second: str) -> int:
    """Optimal string alignment, by the book: letters inserted, deleted, exchanged, or swapped
    with the next.
    """
    table = [
        [i + j if i * j == 0 else 0 for j in range(len(second) + 1)] for i in range(len(first) + 1)
    ]
    for i, a in enumerate(first, 1):
        for j, b in enumerate(second, 1):
            table[i][j] = min(
                table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a != b)
            )
            if i > 1 and j > 1 and (a, b) == (second[j - 2], first[i - 2]):
                table[i][j] = min(table[i][j], table[i - 2][j - 2] + 1)
    return table[-1][-1]


@pytest.mark.parametrize("seed", range(30))
def test_no_name_within_two_letters_of_an_own_one_is_foreign(seed: int) -> None:
    dice = random.Random(seed)
    names = {own_name(dice, space) for space in dice.sample(SPACES, 2) for _ in range(6)}
    own = OwnNamespaces(names, dice.choice([names, set(sorted(names)[::2])]))
    for iri in sorted(names):
        for _ in range(20):
            wrong = misspelt(dice, iri)
            if wrong not in names and own.is_foreign(wrong):
                assert distance(wrong, iri) > 2, (iri, wrong)


def test_terms_of_other_vocabularies_stay_foreign() -> None:
    others = [f"{space}{word}" for space in (*SPACES, *FOREIGN) for word in WORDS]
    for space in SPACES:
        own = OwnNamespaces({space + word for word in WORDS})
        wrong = {namespace_of(iri) for iri in others if not own.is_foreign(iri)} - {space}
        assert not {wrongly for wrongly in wrong if "obo" not in wrongly}, space


@pytest.mark.parametrize("seed", range(5))
def test_slips_are_found_among_the_names_that_share_a_piece_as_among_all(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(150):
        names = sorted({dice.choice(WORDS) + dice.choice(["", *WORDS, *LETTERS]) for _ in range(8)})
        wrong = edited(dice, dice.choice(names))
        wrong = edited(dice, wrong) if wrong and dice.random() < 0.5 else wrong
        expected = min((name for name in names if is_slip_of(wrong, name)), default="")
        assert SlipFinder(names).nearest(wrong) == expected, (wrong, names)


# --- documents -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Document:
    """text: what says nothing of some kinds. by_hand: with every kind declared. names: own names
    in the data.
    """

    text: str
    by_hand: str
    names: tuple[str, ...]

    def misspelt(self, dice: random.Random) -> str:
        """With one own name misspelt in one assertion."""
        wrong = name = dice.choice(self.names)
        while (
            wrong in self.names
            or any(letter in wrong for letter in "<> ")
            or distance(wrong, name) > 2
        ):
            wrong = misspelt(dice, name)
        head, _, data = self.text.rpartition("# data\n")
        return f"{head}# data\n{data.replace(f'<{name}>', f'<{wrong}>', 1)}"


def random_document(dice: random.Random) -> Document:
    space, other = dice.choice(SPACES), dice.choice(FOREIGN)
    local = (
        [f"{n:07}" for n in range(1, 8)]
        if space.endswith("_")
        else [*"ABCD", "near", "worn", "size"]
    )
    classes, (near, worn, size) = (
        [f"<{space}{name}>" for name in local[:4]],
        [f"<{space}{name}>" for name in local[4:]],
    )
    people = [f"<urn:x:{name}>" for name in "abcd"]
    axioms = [
        f"{classes[0]} owl:disjointWith {classes[1]} .",
        f"{near} rdfs:domain {dice.choice(classes)} .",
        f"{worn} rdfs:range {dice.choice(classes)} .",
        f"{size} rdfs:domain {dice.choice(classes)} .",
        f"{dice.choice(classes)} rdfs:subClassOf {dice.choice(classes)} .",
        f"{dice.choice(classes)} rdfs:subClassOf [ a owl:Restriction ; owl:onProperty {near} ; "
        f"owl:{dice.choice(['allValuesFrom', 'someValuesFrom'])} {dice.choice(classes)} ] .",
        f"{dice.choice([near, worn, size])} a owl:FunctionalProperty .",
    ]
    axioms = dice.sample(axioms[1:], 4) + axioms[:1]
    kinds = {
        **dict.fromkeys(classes, "owl:Class"),
        **{near: "owl:ObjectProperty", worn: "owl:ObjectProperty", size: "owl:DatatypeProperty"},
    }
    foreign = {
        f"<{other}Thing>": "owl:Class",
        f"<{other}by>": "owl:ObjectProperty",
        f"<{other}on>": "owl:DatatypeProperty",
    }
    rows = [f"{dice.choice(people)} a {dice.choice(classes)} ." for _ in range(5)]
    rows += [
        f"{dice.choice(people)} {dice.choice([near, worn])} {dice.choice(people)} ."
        for _ in range(4)
    ]
    rows += [f"{dice.choice(people)} {size} {dice.randrange(2)} ." for _ in range(2)]
    rows += [
        f"{dice.choice(people)} a <{other}Thing> .",
        f"{dice.choice(people)} <{other}by> {dice.choice(people)} .",
        f"{dice.choice(people)} <{other}on> 'x' .",
    ]
    open_kinds = {
        name: dice.choice([kind, "rdf:Property"]) if name in (near, worn, size) else kind
        for name, kind in kinds.items()
    }
    head = "".join(
        f"@prefix {prefix}: <http://www.w3.org/{space}#> .\n"
        for prefix, space in (
            ("owl", "2002/07/owl"),
            ("rdfs", "2000/01/rdf-schema"),
            ("rdf", "1999/02/22-rdf-syntax-ns"),
        )
    )

    def written(kinds: dict[str, str]) -> str:
        declared = [f"{name} a {kind} ." for name, kind in kinds.items()]
        return head + "\n".join([*declared, *axioms]) + "\n# data\n" + "\n".join(rows)

    names = tuple(name[1:-1] for name in kinds if any(name in row for row in rows))
    return Document(written(open_kinds), written(kinds | foreign), names)


def compare(folder: Path, seeds: range, consistent: Callable[[Path], bool]) -> Counter[Verdict]:
    """Certify documents, and each with a name misspelt; ``consistent`` is asked about the
    document with all kinds declared.
    """
    found = Counter[Verdict]()
    for seed in seeds:
        dice = random.Random(seed)
        document = random_document(dice)
        for name, text in (
            ("open", document.text),
            ("hand", document.by_hand),
            ("wrong", document.misspelt(dice)),
        ):
            (folder / f"{name}.ttl").write_text(text)
        verdict = certify(folder / "open.ttl", reasoner="own").verdict
        found[verdict] += 1
        if verdict is not Verdict.UNDETERMINED:
            assert (verdict is Verdict.CONSISTENT) == consistent(folder / "hand.ttl"), (
                seed,
                document.text,
            )
        wrong = certify(folder / "wrong.ttl", reasoner="own")
        assert wrong.verdict is not Verdict.CONSISTENT, (seed, (folder / "wrong.ttl").read_text())
        assert any(
            leftover.kind in ("undeclared", "unknown-vocabulary")
            for leftover in wrong.evidence.leftovers
        ), seed
    return found


@pytest.mark.parametrize("seeds", [range(25), pytest.param(range(25, 200), marks=pytest.mark.slow)])
def test_documents_of_open_kinds_have_the_verdicts_of_declared_ones(
    tmp_path: Path, seeds: range
) -> None:
    found = compare(
        tmp_path,
        seeds,
        lambda file: certify(file, reasoner="own").verdict is Verdict.CONSISTENT,
    )
    assert min(found[Verdict.CONSISTENT], found[Verdict.INCONSISTENT]) > len(seeds) / 6


@pytest.fixture
def hermit() -> Iterator[Callable[[Path], bool]]:
    backend = pytest.importorskip(
        "shiq.reasoner.hermit", reason="no HermiT backend"
    ).HermitReasoner()

    def consistent(file: Path) -> bool:
        reading = read_ontology([file])
        assert not reading.leftovers
        return (
            backend.decide_consistency(
                reading.tbox.axioms, tuple(reading.abox), timeout=20, proxy_data=False
            ).verdict
            is Verdict.CONSISTENT
        )

    yield consistent
    backend.close()


@pytest.mark.jvm
@pytest.mark.slow
def test_a_thousand_documents_against_hermit(
    tmp_path: Path, hermit: Callable[[Path], bool]
) -> None:
    found = compare(tmp_path, range(1000, 2000), hermit)
    assert (
        found[Verdict.UNDETERMINED] < 500
        and min(found[Verdict.CONSISTENT], found[Verdict.INCONSISTENT]) > 100
    )
