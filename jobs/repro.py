"""Pack a module for reproduction elsewhere: the ontology as text, the answers, versions and
options.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import shiq
from shiq.abox_ops.engine import NamedModule
from shiq.abox_ops.modules.decide import Disagreement
from shiq.answers.verdict import Verdict
from shiq.api import Session, certify
from shiq.errors import InputError, OperationalError, UsageError
from shiq.files import write_atomically
from shiq.functional import ontology_text
from shiq.model.clause import ClausalTBox
from shiq.model.clause_axioms import clause_axioms, module_assertions, numbered_names
from shiq.rdf import read_ontology
from shiq.reasoner.hermit import HermitReasoner
from shiq.reasoner.protocol import Answer, Module
from shiq.simplify.inclusion import PREFIX

SCHEMA_VERSION = 1
ONTOLOGY, ANSWERS, README = "ontology.ofn", "answers.json", "README.txt"

#: A larger member is not read: a reproducer is one module.
MOST_BYTES = 64 << 20

#: What fresh names begin with in a reproducer: those of `simplify` are refused as input.
_RENAMED_NAMESPACE = "urn:repro:fresh:"
_INDIVIDUAL = "urn:repro:"

_README_TEXT = """A module of a knowledge base, packed by shiq {version}.

{file}: the TBox as it was decided, written back from clauses, and the assertions of the module (OWL 2 functional syntax).
{answers}: what each reasoner said of it, the versions, and the options.

Decide it again with both reasoners:      shiq repro run THIS.zip
Or with any OWL 2 DL reasoner:            unzip THIS.zip, and ask whether {file} is consistent.
"""


@dataclass(frozen=True)
class Reproducer:
    """One module of a check, packed so that others can decide it again.

    text: the ontology. answers: verdict and reason by reasoner. versions, options: of the run.
    """

    text: str
    answers: Mapping[str, tuple[str, str]]
    versions: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """File name of the reproducer, equal for equal module and TBox."""
        return f"shiq-repro-{hashlib.sha256(self.text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}.zip"


def pack_module(
    tbox: ClausalTBox,
    module: Module,
    answers: Mapping[str, Answer],
    options: Mapping[str, Any] | None = None,
) -> Reproducer:
    """Pack a module over ``tbox`` with the answers of reasoners about it."""
    names = numbered_names(module, _INDIVIDUAL)
    text = ontology_text(clause_axioms(tbox), module_assertions(tbox, module, names)).replace(
        PREFIX, _RENAMED_NAMESPACE
    )
    said = {name: (answer.verdict.value, answer.reason) for name, answer in answers.items()}
    known = package_versions("owlready2", "numpy") | {"platform": platform.platform()}
    return Reproducer(text, said, known, dict(options or {}))


def pack_disagreement(found: Disagreement, options: Mapping[str, Any] | None = None) -> Reproducer:
    """Pack a module about which two reasoners disagreed in an audit."""
    return pack_module(found.tbox, found.module, dict(zip(found.reasoners, found.answers)), options)


def package_versions(*names: str) -> dict[str, str]:
    """Versions of shiq, Python and the packages ``names``."""
    found = {"shiq": shiq.__version__, "python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


# --- files ----------------------------------------------------------------------------------------


def write_reproducer(packed: Reproducer, target: Path) -> Path:
    """Write a reproducer as a zip file in one step. Raises: OperationalError."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "answers": {
            name: {"verdict": verdict, "reason": reason}
            for name, (verdict, reason) in packed.answers.items()
        },
        "versions": dict(packed.versions),
        "options": dict(packed.options),
    }
    members = {
        README: _README_TEXT.format(
            version=packed.versions.get("shiq", "?"), file=ONTOLOGY, answers=ANSWERS
        ),
        ONTOLOGY: packed.text,
        ANSWERS: json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n",
    }
    packed_up = io.BytesIO()
    with zipfile.ZipFile(packed_up, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            # Without the time of day, so that the same reproducer is the same file.
            archive.writestr(
                zipfile.ZipInfo(name), text.encode("utf-8", "surrogatepass"), zipfile.ZIP_DEFLATED
            )
    write_atomically(target, packed_up.getvalue())
    return target


def read_reproducer(source: Path) -> Reproducer:
    """Read a reproducer from its zip file. Raises: InputError."""
    try:
        with zipfile.ZipFile(source) as archive:
            text, document = (_read_member(archive, name, source) for name in (ONTOLOGY, ANSWERS))
        found = json.loads(document)
        if found["schema_version"] != SCHEMA_VERSION:
            raise InputError(
                f"{source}: a reproducer of version {found['schema_version']}",
                "Use the shiq that wrote it.",
            )
        answers = {
            name: (str(said["verdict"]), str(said["reason"]))
            for name, said in found["answers"].items()
        }
        return Reproducer(text, answers, found["versions"], found["options"])
    except OSError as error:
        raise InputError(
            f"{source}: cannot be read ({error.strerror or error})",
            "Name a file that `shiq repro` wrote.",
        ) from error
    except (zipfile.BadZipFile, KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"{source}: no reproducer ({error})", "Name a file that `shiq repro` wrote."
        ) from error


def _read_member(archive: zipfile.ZipFile, name: str, source: Path) -> str:
    """Read one text file of a reproducer's zip file. Raises: InputError."""
    if archive.getinfo(name).file_size > MOST_BYTES:
        raise InputError(
            f"{source}: {name} is larger than {MOST_BYTES:,} bytes", "A reproducer is one module."
        )
    with archive.open(name) as member:
        return member.read(MOST_BYTES + 1)[:MOST_BYTES].decode("utf-8", "surrogatepass")


# --- deciding -------------------------------------------------------------------------------------


def replay(
    packed: Reproducer, *, heap: str = "1g", timeout: float | None = None
) -> dict[str, Answer]:
    """Decide the packed module again, by the own reasoner and by HermiT. Returns their answers by
    name.
    """
    with tempfile.TemporaryDirectory(prefix="shiq-repro-") as folder:
        path = Path(folder) / ONTOLOGY
        path.write_text(packed.text, encoding="utf-8", errors="surrogatepass")
        reading = read_ontology([path])
        result = certify(
            path,
            reasoner="own",
            engine="local",
            criterion="none",
            max_conflicts=0,
            timeout=timeout,
        )
    answers = {"own": Answer(result.verdict, result.reason)}
    hermit = HermitReasoner(heap)
    try:
        answers["hermit"] = hermit.decide_consistency(
            reading.tbox.axioms, list(reading.abox), timeout or 300.0
        )
    except OperationalError as error:
        answers["hermit"] = Answer(Verdict.UNDETERMINED, error.message)
    finally:
        hermit.close()
    return answers


def find_module(
    store: str,
    insertions: Sequence[str],
    deletions: Sequence[str],
    criterion: str,
    *,
    number: int,
    individual: str,
) -> tuple[ClausalTBox, Module]:
    """Find a module of a check, by its number or by an ``individual`` in it."""
    with Session(store) as session:
        batch = session.read_batch(list(insertions), list(deletions))
        add_set = session.knowledge_base("local").add_set(
            batch.insertions, batch.deletions, criterion
        )
        contradictory = [
            element for element in add_set.contradictory if not individual or individual in element
        ]
        if contradictory and (individual or not len(add_set.modules)):
            files = " ".join(f"--insert {name}" for name in insertions) + "".join(
                f" --delete {name}" for name in deletions
            )
            raise UsageError(
                f"<{contradictory[0][0]}> contradicts the TBox before a reasoner is asked: it is in no module",
                f"`shiq check --store {store} {files}` lists the facts and axioms of the conflict: report these.",
            )
        found: NamedModule = _choose_module(add_set.modules, number, individual)
        return add_set.tbox, found.module


def _choose_module(modules: Sequence[NamedModule], number: int, individual: str) -> NamedModule:
    """Choose a module by its number or by an individual in it. Raises: UsageError."""
    if individual:
        for module in modules:
            if any(individual in element for element in module.elements):
                return module
        raise UsageError(
            f"<{individual}> is in none of the {len(modules)} modules of this check",
            "Is it spelt as in the data?",
        )
    if not 0 <= number < len(modules):
        raise UsageError(
            f"there is no module {number}: this check has {len(modules)}",
            "They are counted from 0.",
        )
    return modules[number]
