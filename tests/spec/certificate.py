"""N of a consistent (T, A), read off a certificate: all of A put into nothing (THEORY, "Outside
completion").
"""

from __future__ import annotations

from shiq.abox_ops.engine import Inquiry
from shiq.abox_ops.patch.widening import patched
from tests.spec.certified_model import OutsideCompletion
from tests.spec.patch import Patch


def certified_completion(
    base: OutsideCompletion, patch: Patch, inquiry: Inquiry
) -> OutsideCompletion:
    """N of a consistent (T, A); ``patch`` puts all of A into nothing, ``base`` says what is told.

    Where A turns out to be inconsistent, or is left undecided under an assumption, N says
    nothing beyond ``base``.
    """
    found = patched(patch, inquiry)
    if patch.contradictory() or not found.is_consistent:
        return base
    elements = base.graph.elements
    module_of = {
        elements.find(i): n
        for n, module in enumerate(found.modules)
        for e in module.elements
        for i in e
    }
    return OutsideCompletion(
        base.space, base.graph, base.told, {e: patch.label(e) for e in base.told}, module_of
    )
