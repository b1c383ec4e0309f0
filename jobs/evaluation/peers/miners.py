"""Itemset miners beside the ground language, run by the Python that `make peers` gave them: CPU
seconds by name, as JSON.

``python miners.py TRANSACTIONS.json SUPPORT CONFIDENCE ATOMS``: the first a list of lists of
texts, shares the next two; bodies have at most so many atoms. Imports nothing of ours.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from time import process_time

Transactions = Sequence[Sequence[str]]


def mlxtend(
    transactions: Transactions, support: float, confidence: float, atoms: int
) -> Callable[[], object]:
    """FP-growth and its rules, of a table of truth values that is made before."""
    import pandas as pd  # type: ignore[import-untyped]
    from mlxtend.frequent_patterns import association_rules, fpgrowth  # type: ignore[import-not-found]

    items = sorted({item for transaction in transactions for item in transaction})
    table = pd.DataFrame(
        [[item in own for item in items] for own in map(set, transactions)], columns=items
    )

    def mine() -> object:
        often = fpgrowth(table, min_support=support, use_colnames=True, max_len=atoms + 1)
        return association_rules(often, metric="confidence", min_threshold=confidence)

    return mine


def pyfim(
    transactions: Transactions, support: float, confidence: float, atoms: int
) -> Callable[[], object]:
    """FP-growth in C, rules with one head."""
    from fim import fpgrowth  # type: ignore[import-not-found]

    shares = {"supp": 100 * support, "conf": 100 * confidence}
    return lambda: fpgrowth(transactions, target="r", zmin=2, zmax=atoms + 1, report="sa", **shares)


def main() -> None:
    """Each once to be warm, where that is quick, and once for its time."""
    with open(sys.argv[1], encoding="utf-8") as file:
        transactions = json.load(file)
    spent = {}
    for make in (pyfim, mlxtend):
        mine = make(transactions, float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
        begun = process_time()
        mine()
        spent[make.__name__] = process_time() - begun
    print(json.dumps(spent))


if __name__ == "__main__":
    main()
