"""Assertions for tests of ontologies and data.

>>> from shiq import TextInput
>>> cats = TextInput("@prefix : <urn:t#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . :Cat a owl:Class . :tom a :Cat .")
>>> assert_consistent(cats)
"""

from __future__ import annotations

from typing import Any

from shiq.answers.result import NotConsistent, Result
from shiq.inputs.sources import Given


def assert_consistent(sources: Given | Result, more: Given = None, **settings: Any) -> None:
    """Assert that an ontology with its data is consistent, or that the given result of a check says
    so.

    Args:
        sources: as in `shiq.certify`, or a result.
        more: as in `shiq.certify`.
        settings: as in `shiq.check_insertions`.

    Raises: AssertionError with the verdict and the first causes.
    """
    from shiq.api import certify

    result = sources if isinstance(sources, Result) else certify(sources, more, **settings)
    try:
        result.raise_for_verdict()
    except NotConsistent as error:
        raise AssertionError(str(error)) from None
