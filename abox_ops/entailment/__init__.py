"""What (T, B ∪ E) entails of named individuals, exactly: the classes of those of an event E, and
pairs of roles.

>>> from shiq import model as owl
>>> cat, animal = owl.Class("urn:Cat"), owl.Class("urn:Animal")
>>> base = Premises.of([owl.SubClassOf(cat, animal)], [owl.ClassAssertion(cat, "urn:felix")])
>>> found = entailed(base, [owl.ClassAssertion(cat, "urn:tom")])
>>> found.verdict.value, sorted(found.types["urn:tom"]), "urn:felix" in found.types
('consistent', ['urn:Animal', 'urn:Cat'], False)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shiq import model as owl
from shiq.abox_ops.entailment.entailer import Entailer
from shiq.abox_ops.entailment.premises import Entailment, Premises
from shiq.abox_ops.entailment.shiq_entailer import union_or_any

__all__ = ["Entailer", "Entailment", "Premises", "compute_entailment", "union_or_any"]


def compute_entailment(
    base: Premises,
    assertions: Iterable[owl.Assertion],
    classes: Sequence[owl.ClassExpression] | None = None,
    roles: Sequence[str] = (),
    *,
    static: bool = False,
) -> Entailment:
    """What ``base`` with the event ``assertions`` entails of the event's individuals, blank
    nodes too.

    Which of ``classes`` (None: those that T, B and E name) each belongs to, which pairs of them
    stand in ``roles``; with ``static``, what the event makes of others besides. ⊤ and fresh
    names are no answers. For many events, open an `Entailer`.
    """
    with Entailer(base, classes, roles, static=static) as entailer:
        return entailer.entailment(assertions)
