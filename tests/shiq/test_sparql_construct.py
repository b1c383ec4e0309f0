"""CONSTRUCT queries as rows: their pages together are what a store constructs, each triple once."""

from __future__ import annotations

from random import Random

import pyoxigraph as ox
import pytest

from shiq.errors import UsageError
from shiq.rdf.sparql_construct import ALL_TRIPLES, read_construct

OBJECTS = [
    "<urn:a>",
    "<urn:b>",
    '"1"',
    '"1"@en',
    '"1"@de',
    '"x"',
    "1",
    "1.0",
    "1e0",
    "01",
    "true",
    '"1"^^<urn:own>',
]
QUERIES = [
    ALL_TRIPLES,
    "CONSTRUCT WHERE { ?s ?p ?o }",
    "construct where { ?s <urn:p> ?o ; <urn:q> ?x } ",
    "PREFIX : <urn:> CONSTRUCT { ?s a :A ; :p ?o . ?o :q 'a?b', $s } WHERE { ?s :p ?o # }\n }",
    "BASE <urn:x/> PREFIX : <urn:>\nCONSTRUCT { ?s ?x ?o } { ?s :p ?o OPTIONAL { ?o :q ?x } }",
    "CONSTRUCT { ?o ?p ?s } FROM <urn:g> WHERE { ?s ?p ?o FILTER(?o != '}' && ?o<5||?o>=5) }",
    "CONSTRUCT { ?s <urn:n> ?n } WHERE { SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?row_o } GROUP BY ?s }",
    "CONSTRUCT { ?s ?p ?o } FROM NAMED <urn:g> { GRAPH ?g { ?s ?p ?o } }",
    "CONSTRUCT { ?s a <urn:A> } WHERE { _:x <urn:p> ?s . ?s <urn:p> _:x }",
    "CONSTRUCT { ?s <urn:r> true, 2, 'b'@en } WHERE { ?s <urn:p>|<urn:q> [] }",
]


def random_store(dice: Random) -> ox.Store:
    store = ox.Store()
    for graph in ("", "GRAPH <urn:g>"):
        triples = " . ".join(
            f"<urn:{dice.choice('abc')}> <urn:{dice.choice('pq')}> {dice.choice(OBJECTS)}"
            for _ in range(dice.randint(0, 12))
        )
        store.update(
            f"INSERT DATA {{ {graph} {{ {triples} }} }}"
            if graph
            else f"INSERT DATA {{ {triples} }}"
        )
    return store


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("text", QUERIES, ids=range(len(QUERIES)))
def test_pages_are_what_a_store_constructs(seed: int, text: str) -> None:
    dice = Random(seed)
    store, query = random_store(dice), read_construct(text)
    expected = sorted(map(str, set(store.query(text))))  # type: ignore[arg-type]
    (row,) = store.query(query.count)  # type: ignore[misc, union-attr]
    assert int(row["n"].value) == len(expected) and int(row["blank"].value) == 0
    size = dice.randint(1, 5)
    pages = [
        [*map(str, store.query(query.page(size, at)))]  # type: ignore[arg-type]
        for at in range(0, len(expected), size)
    ]
    assert sorted(triple for page in pages for triple in page) == expected
    assert all(len(page) == size for page in pages[:-1])
    assert sorted(map(str, store.query(query.page()))) == expected  # type: ignore[arg-type]


def test_blank_nodes_are_counted() -> None:
    store, query = ox.Store(), read_construct(ALL_TRIPLES)
    store.update("INSERT DATA { [] <urn:p> [] . <urn:a> <urn:p> [] . <urn:a> <urn:p> 1 }")
    (row,) = store.query(query.count)  # type: ignore[misc, union-attr]
    assert (row["n"].value, row["blank"].value) == ("3", "2")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SELECT * WHERE { ?s ?p ?o }", "constructs no triples: 'SELECT"),
        ("DESCRIBE <urn:a>", "no triples: 'DESCRIBE"),
        ("", "no triples"),
        ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o", "no block"),
        ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } LIMIT 5", "'LIMIT 5'"),
        ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o } VALUES ?s { <urn:a> }", "'VALUES"),
        ("CONSTRUCT { ?s ?p ?o } HAVING { ?s ?p ?o }", "'HAVING'"),
        ("CONSTRUCT { [] ?p ?o } WHERE { ?s ?p ?o }", "blank nodes"),
        ("CONSTRUCT { } WHERE { ?s ?p ?o }", "no triple"),
        ("CONSTRUCT { ?s :p ?o } WHERE { ?s ?p ?o }", "cannot be read"),
        ("ASK {} CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "cannot be read"),
    ],
)
def test_other_queries_are_refused(text: str, what: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_construct(text)
    assert what in str(raised.value)
