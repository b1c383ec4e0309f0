"""N of a consistent (T, A), read off a certificate: all of A put into nothing (THEORY, "Outside
completion").
"""

from __future__ import annotations

from shiq.abox_ops.engine import Inquiry
from shiq.abox_ops.patch.widening_loop import decide_patch
from tests.spec.certified_model import CertifiedModel
from tests.spec.patch import Patch


def certify_model(base: CertifiedModel, patch: Patch, inquiry: Inquiry) -> CertifiedModel:
    """N of a consistent (T, A); ``patch`` puts all of A into nothing, ``base`` says what is told.

    Where A turns out to be inconsistent, or is left undecided under an assumption, N says
    nothing beyond ``base``.
    """
    found = decide_patch(patch, inquiry)
    if patch.contradictory() or not found.is_consistent:
        return base
    elements = base.graph.elements
    module_of = {
        elements.find(i): n
        for n, module in enumerate(found.modules)
        for e in module.elements
        for i in e
    }
    return CertifiedModel(
        base.space,
        base.graph,
        base.told_labels,
        {e: patch.label(e) for e in base.told_labels},
        module_of,
    )
