"""Print the texts that users read, with a test that provokes each: `python -m tests.tools.messages`.

A text is a literal of at least `LEAST` words; `…` stands for what is filled in. Below it follows the
first test or case that holds a piece of it. `--kind error` prints those of one kind.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("shiq", "simplify", "abox_ops", "jobs", "streams")
KINDS = ("error", "leftover", "hint", "title", "help", "text")
LEAST = 3
#: Length of a literal piece that is looked for in tests.
PIECE = 14
_WORD = re.compile(r"[A-Za-z]{2,}")
#: What is code for another program, not a text: SQL, HTML, regular expressions, formats.
_CODE = re.compile(r"<[a-z/!]|\(\?|\\[dsw]|SELECT |^[#%]|://\S+$|^[\w.-]+$|^Prefix\(|\bdef \w+\(")


@dataclass(frozen=True)
class Message:
    """A text in the product, with the place where it is made."""

    kind: str
    path: str
    line: int
    text: str

    @property
    def pieces(self) -> list[str]:
        """Its literal pieces that are long enough to be looked for, longest first."""
        parts = (part.strip(" .:;,") for part in self.text.split("…"))
        return sorted((x for x in parts if len(x) >= PIECE), key=len, reverse=True)


def text_of(node: ast.AST) -> str | None:
    """The text of a literal or f-string with `…` for its fields, else None."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(text_of(x) or "…" for x in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            both = text_of(left), text_of(right)
            return None if both == (None, None) else "".join(x or "…" for x in both)
    return None


def _kind_below(node: ast.AST, kind: str) -> str:
    """The kind of the texts in a node, from that of the node around it."""
    match node:
        case ast.Raise():
            return "error"
        case ast.keyword(arg="hint"):
            return "hint"
        case ast.keyword(arg="help"):
            return "help"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            words = name.strip("_").lower()
            if "leftover" in words or words in ("report", "drop", "blame", "leave"):
                return "leftover"
            if words.endswith(("error", "fault", "refuse", "badparameter")):
                return "error"
            if words == "option":
                return "help"
    return kind


def messages_in(path: str, tree: ast.Module) -> Iterator[Message]:
    """The texts of a module, docstrings and parts of longer texts excepted."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    in_titles = "title" if path.startswith("shiq/explanation/") else "text"

    def below(node: ast.AST, kind: str) -> Iterator[Message]:
        text = text_of(node)
        if text is not None:
            if len(_WORD.findall(text)) >= LEAST and " " in text.strip() and not _CODE.search(text):
                yield Message(kind, path, getattr(node, "lineno", 0), " ".join(text.split()))
            return
        children = [*ast.iter_child_nodes(node)]
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            children.remove(node.body[0])
        for child in children:
            yield from below(child, _kind_below(child, kind))

    yield from below(tree, in_titles)


def messages() -> list[Message]:
    """The texts of the product, by file and line."""
    return [
        message
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if not any(x.is_symlink() for x in path.parents)
        for message in messages_in(
            path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        )
    ]


def samples() -> dict[str, list[str]]:
    """The lines of the tests and of the cases, by file."""
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "data" / "cases").rglob("*.json")]
    own = Path(__file__).resolve()
    return {
        x.relative_to(ROOT).as_posix(): x.read_text(encoding="utf-8").splitlines()
        for x in sorted(files)
        if x != own
    }


def example_of(message: Message, lines: dict[str, list[str]]) -> str:
    """The first place in `lines` that has a piece of the message, with its line; else ""."""
    for piece in message.pieces[:2]:
        for path, texts in lines.items():
            for number, text in enumerate(texts, 1):
                if piece in text:
                    return f"{path}:{number}: {text.strip()}"
    return ""


def main(arguments: list[str] | None = None) -> int:
    """Print the messages. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=KINDS, help="print the texts of one kind")
    parser.add_argument("--under", default="", metavar="PATH", help="print those of a folder")
    parser.add_argument("--no-examples", action="store_true", help="print no tests below them")
    args = parser.parse_args(arguments)
    lines = {} if args.no_examples else samples()
    for message in messages():
        if args.kind in (None, message.kind) and message.path.startswith(args.under):
            print(f"{message.path}:{message.line}: {message.kind}: {message.text}")
            if example := example_of(message, lines):
                print(f"    {example}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
