"""XML literals: markup inside RDF/XML, written as exclusive canonical XML with comments."""

from __future__ import annotations

from collections.abc import Mapping

from shiq.rdf.xml_names import XML, name_of

_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"})
_VALUE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;"}
)


class XmlLiteral:
    """The markup met so far, outermost elements and text. ``depth`` counts elements that are open."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._open: list[
            tuple[str, dict[str, str]]
        ] = []  # name, and the namespaces declared up to there

    @property
    def depth(self) -> int:
        return len(self._open)

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = name_of(tag)
        named = sorted(
            ((key := name_of(text)).namespace, key.local, key, value)
            for text, value in attributes.items()
        )
        known = self._open[-1][1] if self._open else {"": ""}
        used = {name.prefix: name.namespace} | {
            key.prefix: key.namespace for _, _, key, _ in named if key.prefix
        }
        new = {
            prefix: uri for prefix, uri in used.items() if known.get(prefix) != uri and uri != XML
        }
        self._open.append((name.qualified, {**known, **new}))
        self._parts.append(f"<{name.qualified}")
        self._parts += (
            f' xmlns{":" * bool(p)}{p}="{new[p].translate(_VALUE)}"' for p in sorted(new)
        )
        self._parts += (
            f' {key.qualified}="{value.translate(_VALUE)}"' for _, _, key, value in named
        )
        self._parts.append(">")

    def end(self) -> None:
        self._parts.append(f"</{self._open.pop()[0]}>")

    def characters(self, text: str) -> None:
        self._parts.append(text.translate(_TEXT))

    def comment(self, text: str) -> None:
        self._parts.append(f"<!--{text}-->")

    def instruction(self, target: str, text: str) -> None:
        self._parts.append(f"<?{target}{' ' * bool(text)}{text}?>")
