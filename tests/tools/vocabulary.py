"""Check how names, docstrings and guides are worded: `python -m tests.tools.vocabulary`.

It fails where a package breaks a rule more often than vocabulary.json allows, a number that only
shrinks. `--list PATH` prints the findings of a file or folder with their lines.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("shiq", "simplify", "abox_ops", "jobs", "streams")
REMAINING = Path(__file__).with_suffix(".json")
RULES = {
    "name": "a name is no bare participle, particle or pronoun",
    "undocumented": "a public class, function or method has a docstring",
    "first word": "a docstring begins with a verb or noun, not with What, Which, Who, …",
    "long sentence": "a sentence has at most 30 words",
}
LONGEST = 30


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Participles that do not end in -ed.
IRREGULAR = _words(
    """begun bent bought bound bound broken brought built caught chosen dealt done drawn driven eaten
    fallen fed felt forgotten found frozen given gone got grown had heard held hidden hurt kept known
    laid led left lent lost made meant met paid risen said seen sent shaken shown slept sold spent
    spoken stolen stood struck stuck swept taken taught thought thrown told torn understood undone
    woken won worn woven written"""
)
#: Words that end as participles do.
NOT_PARTICIPLES = _words(
    "bed bleed embed exceed feed hundred indeed kindred need proceed seed shed speed succeed"
)
PARTICLES = _words(
    """about above after again ahead along among apart around as aside at away back before behind
    below beside between beyond both by down each either else enough even ever every few for from
    here how if inside into it its least less like many more most much near no none now of off on
    only onto other others out outside over own past per rest same since so some such than that the
    them then there these they this those through till to together too toward under until up upon
    very what when where which while who whole whom whose why with within without yet one"""
)
#: Words that make a forbidden one no name when they stand before or after it.
FILLERS = frozenset({"do", "get", "it", "of"})
FIRST_WORDS = _words("What Which Who Whose Whoever That Those How Where")

_JSON = "a key of exported JSON"
_OPTION = "named as its option"
_CHECKPOINT = "a key of checkpoints"
#: Names that stay, as NAME or CLASS.NAME, each with the reason.
ALLOWED = {
    "GateAnswer.accepted": _JSON,
    "GateAnswer.tolerated": _JSON,
    "GateBody.aside": _OPTION,
    "Certificate.allowed": _JSON,
    "Certificate.known": _JSON,
    "ComparedRow.gone": _JSON,
    "ComparedRow.known": _JSON,
    "EnrichmentCounts.bypassed": _CHECKPOINT,
    "EnrichmentCounts.undetermined": _CHECKPOINT,
    "Evidence.allowed": _JSON,
    "Evidence.decided": _JSON,
    "Evidence.sent": _JSON,
    "Evidence.undecided": _JSON,
    "HistoryRow.committed": _JSON,
    "HistoryRow.made": _JSON,
    "PaperRow.why": _JSON,
    "Leftover.agreed": _JSON,
    "Leftover.known": _JSON,
    "Leftover.lapsed": _JSON,
    "Lint.allowed": _JSON,
    "Lint.asked": _JSON,
    "LintStep.left": _JSON,
    "Finding.found": _JSON,
    "Finding.what": _JSON,
    "GatedFrames.accepted": "a value of an exported function",
    "Session.taken": "documented in docs/INPUTS.md",
    "Manifest.before": _JSON,
    "Manifest.created": _JSON,
    "Result.committed": _JSON,
    "Run.expected": _JSON,
    "Run.used": _JSON,
    "TableVersion.removed": _JSON,
    "WideningFigures.closed": _JSON,
    "GateOptions.aside": _OPTION,
    "Model.derived": "a value of an exported class",
    "Options.known": _OPTION,
    "Options.outside": _OPTION,
    "RowSettings.only": _OPTION,
    "StreamArguments.out": _OPTION,
    "StreamArguments.rejected": _OPTION,
}


@dataclass(frozen=True)
class Finding:
    """A place that breaks a rule.

    rule: of `RULES`. path: relative to the root of the repository. text: the name or sentence.
    """

    rule: str
    path: str
    line: int
    text: str

    @property
    def package(self) -> str:
        """The first folder of the path, or "documents" for README and guides."""
        return "documents" if self.path.endswith(".md") else self.path.split("/")[0]


def is_bare(name: str) -> bool:
    """Is `name`, without fillers, one participle, particle or pronoun?"""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")
    words = [word for word in words if word not in FILLERS] or words[:1]
    if len(words) != 1:
        return False
    (word,) = words
    if word in IRREGULAR or word in PARTICLES:
        return True
    return len(word) > 3 and word.endswith("ed") and word not in NOT_PARTICIPLES


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text. A paragraph, an entry of a list and a semicolon end one."""
    text = re.sub(r"\x08.*?(?:\n *\n|\Z)", "\n\n", text, flags=re.S)  # examples of a command
    text = re.sub(r"^ *>>> .*?(?:\n *\n|\Z)", "\n\n", text, flags=re.M | re.S)
    for part in re.split(r"\n\s*\n|[├└]|\n\s*(?=[-*] |\d+\. |\w+(?:, \w+)*: )", text):
        yield from re.split(r"(?<=[.!?:;…])[)\"'*`_]*\s+", part.strip())


def long_sentences(text: str) -> Iterator[str]:
    """The sentences with more than `LONGEST` words."""
    for sentence in sentences(re.sub(r"``?[^`]+``?", "code", text)):
        if len(re.findall(r"\S*\w\S*", sentence)) > LONGEST:
            yield " ".join(sentence.split())


@dataclass(frozen=True)
class Definition:
    """A class or function with the names of the classes and functions around it."""

    node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    owners: tuple[ast.AST, ...]

    @property
    def owner(self) -> ast.ClassDef | None:
        """The class that it is a member of."""
        last = self.owners[-1] if self.owners else None
        return last if isinstance(last, ast.ClassDef) else None

    @property
    def is_public(self) -> bool:
        """Is it reachable without private names, and neither an overload nor a setter?"""
        around = [*self.owners, self.node]
        if any(not isinstance(x, ast.ClassDef) for x in self.owners):
            return False
        names = {ast.unparse(x).rpartition(".")[2] for x in self.node.decorator_list}
        return not names & {"overload", "setter"} and all(
            not getattr(x, "name", "_").startswith("_") for x in around
        )

    @property
    def qualified(self) -> str:
        """CLASS.NAME of a method, NAME of others."""
        owner = self.owner
        return self.node.name if owner is None else f"{owner.name}.{self.node.name}"


def definitions(tree: ast.AST, owners: tuple[ast.AST, ...] = ()) -> Iterator[Definition]:
    """The classes and functions below a node, nested ones included."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Definition(node, owners)
            yield from definitions(node, (*owners, node))
        else:
            yield from definitions(node, owners)


def named(tree: ast.AST) -> Iterator[tuple[str, str, int]]:
    """(name, name qualified by its class, line) of each definition and annotated field."""
    for found in definitions(tree):
        node = found.node
        yield node.name, found.qualified, node.lineno
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                yield part.target.id, f"{node.name}.{part.target.id}", part.lineno


class Inheritance:
    """The documented methods of each class name, to find docstrings that methods inherit."""

    def __init__(self, trees: Iterable[ast.AST]) -> None:
        self._bases: dict[str, set[str]] = {}
        self._documented: dict[str, set[str]] = {}
        for found in (x.node for tree in trees for x in definitions(tree)):
            if isinstance(found, ast.ClassDef):
                bases = {re.sub(r"\[.*", "", ast.unparse(x)).split(".")[-1] for x in found.bases}
                self._bases.setdefault(found.name, set()).update(bases)
                methods = (x for x in found.body if isinstance(x, ast.FunctionDef))
                with_text = {x.name for x in methods if ast.get_docstring(x)}
                self._documented.setdefault(found.name, set()).update(with_text)

    def has_docstring(self, method: Definition) -> bool:
        """Does a base of its class document the method?"""
        waiting, seen = [method.owner.name] if method.owner else [], set[str]()
        while waiting:
            name = waiting.pop()
            if method.node.name in self._documented.get(name, ()):
                return True
            waiting += self._bases.get(name, set()) - seen
            seen |= self._bases.get(name, set())
        return False


def in_code(path: str, tree: ast.Module, inheritance: Inheritance) -> Iterator[Finding]:
    """The findings in a file of Python."""
    stem = Path(path).stem
    if is_bare(stem):
        yield Finding("name", path, 1, stem)
    for name, qualified, line in named(tree):
        if is_bare(name) and not ALLOWED.keys() & {name, qualified}:
            yield Finding("name", path, line, qualified)
    documented: list[tuple[ast.Module | ast.ClassDef | ast.FunctionDef, int, str]] = [(tree, 1, "")]
    for found in definitions(tree):
        documented.append((found.node, found.node.lineno, found.qualified))  # type: ignore[arg-type]
        has_none = found.is_public and ast.get_docstring(found.node) is None
        if has_none and not inheritance.has_docstring(found):
            yield Finding("undocumented", path, found.node.lineno, found.qualified)
    for node, line, name in documented:
        text = ast.get_docstring(node) or ""
        if name and re.match(r"\w*", text)[0] in FIRST_WORDS:  # type: ignore[index]
            yield Finding("first word", path, line, f"{name}: {text.splitlines()[0]}")
        for sentence in long_sentences(text):
            yield Finding("long sentence", path, line, sentence)


def prose(text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of the paragraphs, entries and cells of a page: no code, headings or comments."""
    text = re.sub(
        r"^(```|~~~).*?^\1|<!--.*?-->", lambda x: "\n" * x[0].count("\n"), text, flags=re.M | re.S
    )
    start, lines = 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_row = line.startswith("|")
        if lines and (not line.strip() or is_row or re.match(r"\s*([-*]|\d+\.) |#|    ", line)):
            yield start, "\n".join(lines)
            lines = []
        if is_row:
            yield from ((number, cell) for cell in re.split(r"(?<!\\)\|", line))
        elif line.strip() and not re.match(r"#|    (?![-*] |\d+\. )", line):
            start, lines = (start if lines else number), [*lines, line]


def in_page(path: str, text: str) -> Iterator[Finding]:
    """The findings in a page of Markdown."""
    for line, part in prose(re.sub(r"\]\([^)\s]*\)", "]", text)):
        for sentence in long_sentences(part):
            yield Finding("long sentence", path, line, sentence)


#: Pages of proofs, of records and of what a script writes: their sentences are not counted.
NO_GUIDES = ("THEORY.md", "REFERENCE.md", "MEASUREMENTS.md")


def findings(root: Path = ROOT) -> Iterator[Finding]:
    """The findings in the packages, the README, CONTRIBUTING and the guides."""
    files = [
        path
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
        if not any(x.is_symlink() for x in path.parents)
    ]
    trees = {x.relative_to(root).as_posix(): ast.parse(x.read_text("utf-8")) for x in files}
    inheritance = Inheritance(trees.values())
    for path, tree in trees.items():
        yield from in_code(path, tree, inheritance)
    guides = [x for x in sorted((root / "docs").glob("**/*.md")) if x.name not in NO_GUIDES]
    for page in [root / "README.md", root / "CONTRIBUTING.md", *guides]:
        name = page.relative_to(root).as_posix()
        if page.exists() and not name.startswith(("docs/papers/", "docs/benchmarks/")):
            yield from in_page(name, page.read_text("utf-8"))


def complaints(
    counts: Counter[tuple[str, str]], remaining: dict[str, dict[str, int]]
) -> tuple[list[str], list[str]]:
    """What is above the remaining numbers, and what is below them and to be lowered."""
    allowed = {
        (rule, package): count for rule, x in remaining.items() for package, count in x.items()
    }
    above, below = [], []
    for rule, package in sorted(counts.keys() | allowed.keys()):
        count, most = counts[rule, package], allowed.get((rule, package), 0)
        if count > most:
            above.append(f"{package}: {count} of “{rule}”, {most} remain allowed: {RULES[rule]}")
        elif count < most:
            below.append(f"{package}: {count} of “{rule}”: lower {most} in {REMAINING.name}")
    return above, below


def main(arguments: list[str] | None = None) -> int:
    """Print findings or compare their numbers. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", metavar="PATH", help="print the findings below a file or folder")
    parser.add_argument("--lower", action="store_true", help="lower the numbers to today's")
    args = parser.parse_args(arguments)
    found = [*findings()]
    if args.list is not None:
        below = args.list.rstrip("/")
        shown = [x for x in found if f"{x.path}/".startswith(f"{below}/") or below == "."]
        print(*(f"{x.path}:{x.line}: {x.rule}: {x.text}" for x in shown), sep="\n")
        return 0
    counts = Counter((x.rule, x.package) for x in found)
    remaining = json.loads(REMAINING.read_text("utf-8"))
    above, below_limit = complaints(counts, remaining)
    print(*above, *below_limit, sep="\n", end="\n" if above or below_limit else "")
    if above:
        print(f"python -m {__spec__.name if __spec__ else __name__} --list PATH prints them")
    if args.lower and not above:
        lowered = {
            rule: {p: counts[rule, p] for p in (*PACKAGES, "documents") if counts[rule, p]}
            for rule in RULES
        }
        REMAINING.write_text(json.dumps(lowered, indent=1) + "\n", "utf-8")
    return bool(above)


if __name__ == "__main__":
    sys.exit(main())
