"""IRIs shortened for a terminal, by the prefixes that the files which were read declare.

>>> shorten("<urn:t#a> <urn:t#says> \\"<urn:t#b>\\" of <urn:else>", {"urn:t#": "t"})
't:a t:says "<urn:t#b>" of <urn:else>'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from shiq.errors import ShiqError
from shiq.sources import FileSource, source_of

#: Prefixes stand at the beginning of a file.
_HEAD_BYTES = 1 << 16
_IRI = r"[A-Za-z][A-Za-z0-9+.\-]*:[^<>\"\s&]+"
_DECLARATION = re.compile(
    rf"(?:@prefix|\bprefix)\s+(?P<turtle>[\w.-]*):\s*<(?P<of_turtle>{_IRI})>"
    rf"|\bPrefix\s*\(\s*(?P<functional>[\w.-]*):\s*=\s*<(?P<of_functional>{_IRI})>"
    rf"|\bxmlns:(?P<xml>[\w.-]+)\s*=\s*[\"'](?P<of_xml>{_IRI})[\"']"
    rf"|<(?:\w+:)?Prefix\s+name\s*=\s*[\"'](?P<owl_xml>[\w.-]*)[\"']\s+IRI\s*=\s*[\"'](?P<of_owl_xml>{_IRI})[\"']",
    re.IGNORECASE,
)
_SYNTAXES = ("turtle", "functional", "xml", "owl_xml")
_TERM = re.compile(r'"(?:[^"\\\n]|\\.)*"|<([^<>\s"]*)>')
_LOCAL = re.compile(r"\w(?:[\w.-]*[\w-])?")


def file_prefixes(
    inputs: Mapping[str, Any], names: Iterable[str] = ("tbox", "abox", "insertions", "deletions")
) -> dict[str, str]:
    """The prefix of each namespace as the files of a call declare it; of several for one, and of
    one for several, the first.
    """
    found: dict[str, str] = {}
    for name in ("tbox", "abox", "insertions", "deletions"):
        given = inputs.get(name) or ()
        for file in [given] if isinstance(given, str | Path) else given:
            with suppress(ShiqError, OSError, ValueError):
                for prefix, namespace in _declared(str(file)):
                    if namespace not in found and prefix not in found.values():
                        found[namespace] = prefix
    return found


def shorten(text: str, prefixes: Mapping[str, str]) -> str:
    """``text`` with the IRIs in angle brackets that ``prefixes`` can shorten as names; quoted
    texts stay.
    """
    return _TERM.sub(lambda match: _name(match, prefixes), text) if prefixes else text


def _declared(file: str) -> Iterable[tuple[str, str]]:
    if file == "-" or not Path(file).is_file():
        return
    source = source_of(file)
    if not isinstance(source, FileSource):
        return
    with source.open() as stream:
        head = stream.read(_HEAD_BYTES).decode("utf-8", "ignore")
    for match in _DECLARATION.finditer(head):
        for syntax in _SYNTAXES:
            if match[f"of_{syntax}"]:
                yield match[syntax], match[f"of_{syntax}"]


def _name(match: re.Match[str], prefixes: Mapping[str, str]) -> str:
    iri = match[1]
    if not iri:
        return match[0]
    for cut in (iri.rfind("#") + 1, iri.rfind("/") + 1, iri.rfind("_") + 1, iri.rfind(":") + 1):
        if cut and iri[:cut] in prefixes and _LOCAL.fullmatch(iri, cut):
            return f"{prefixes[iri[:cut]]}:{iri[cut:]}"
    return match[0]
