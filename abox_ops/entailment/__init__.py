"""Entailment for named individuals: the classes that (T, B ∪ E) gives the individuals of an event
E, and their pairs of roles.

>>> from shiq import model as owl
>>> cat, animal = owl.Class("urn:Cat"), owl.Class("urn:Animal")
>>> base = Premises.build([owl.SubClassOf(cat, animal)], [owl.ClassAssertion(cat, "urn:felix")])
>>> found = compute_entailment(base, [owl.ClassAssertion(cat, "urn:tom")])
>>> found.verdict.value, sorted(found.types["urn:tom"]), "urn:felix" in found.types
('consistent', ['urn:Animal', 'urn:Cat'], False)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shiq import model as owl
from shiq.abox_ops.entailment.entailer import Entailer
from shiq.abox_ops.entailment.premises import Entailment, Premises
from shiq.abox_ops.entailment.shiq_entailer import unite_or_any

__all__ = ["Entailer", "Entailment", "Premises", "compute_entailment", "unite_or_any"]


def compute_entailment(
    base: Premises,
    assertions: Iterable[owl.Assertion],
    classes: Sequence[owl.ClassExpression] | None = None,
    roles: Sequence[str] = (),
    *,
    static: bool = False,
) -> Entailment:
    """Compute what ``base`` with the event ``assertions`` entails of the event's individuals, blank
    nodes included.

    The answer has the ``classes`` of each individual (None: all that T, B and E name), and the
    pairs of ``roles`` between them. With ``static`` it has the changes at other individuals too. ⊤
    and fresh names are left out. For many events, open an `Entailer`.
    """
    with Entailer(base, classes, roles, static=static) as entailer:
        return entailer.entailment(assertions)
