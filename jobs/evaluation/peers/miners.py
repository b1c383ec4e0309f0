"""Time itemset miners on transactions (the facts of each snapshot of a window), in the Python
environment of `make peers`: CPU seconds by miner, as JSON.

``python miners.py TRANSACTIONS.json SUPPORT CONFIDENCE ATOMS``: a list of lists of texts, two
shares, and the largest number of atoms in a body. Imports nothing of shiq.
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
    """Prepare FP-growth by mlxtend: make its table (a column of truth values for each item).
    Returns the function that mines frequent itemsets and rules.
    """
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
    """Prepare FP-growth by pyfim (in C). Returns the function that mines association rules with one
    item in the head.
    """
    from fim import fpgrowth  # type: ignore[import-not-found]

    shares = {"supp": 100 * support, "conf": 100 * confidence}
    return lambda: fpgrowth(transactions, target="r", zmin=2, zmax=atoms + 1, report="sa", **shares)


def main() -> None:
    """Run each miner once and print the CPU seconds of each as JSON."""
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
