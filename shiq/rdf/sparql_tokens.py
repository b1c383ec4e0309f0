"""Split SPARQL into the tokens that are needed to find blocks, strings, IRIs and comments.

>>> [kind for kind, _, _ in tokens("ASK { <urn:a#b> :p '}' } # {")]
['name', 'space', 'open', 'space', 'text', 'space', 'name', 'space', 'text', 'space', 'close', 'space', 'space']
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_IRI = r"<[^<>\"{}|^`\\\s]*>"
_STRING = r"'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\n\r]|\\.)*'|\"(?:[^\"\\\n\r]|\\.)*\""
_TOKEN = re.compile(
    r"(?P<space>\s+|#[^\n\r]*)"
    rf"|(?P<prefix>(?:PREFIX\s+[^\s:<]*:|BASE)\s*{_IRI})"
    r"|(?P<operation>(?P<verb>INSERT|DELETE)\s+DATA\b)|(?P<graph>GRAPH\b)"
    rf"|(?P<text>{_IRI}|{_STRING})|(?P<open>\{{)|(?P<close>\}})|(?P<semicolon>;)"
    r"|(?P<name>\.(?!\d)|(?:\\.|[^\s{};<\"'#\\])+)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)


def tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind, text and line of each token; a comment is a token of kind "space"."""
    line = 1
    for match in _TOKEN.finditer(text):
        kind = "operation" if match["operation"] else str(match.lastgroup)
        yield kind, match[0], line
        line += match[0].count("\n")


def blank_out(text: str) -> str:
    """Replace ``text`` by white space with the same number of line ends."""
    return "\n" * text.count("\n") or " " * bool(text)
