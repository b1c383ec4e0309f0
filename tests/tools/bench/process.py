"""What a benchmark runs: processes of ours and of peers, one after the other, each with its time
and memory.

What several rows need in one repeat (a batch, a run of a peer on it) is made once.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from shiq.errors import OperationalError
from shiq.jobs.evaluation.evaluate.process import (
    MeterReading,
    run_metered,
    run_worker,
    worker_python_path,
)
from shiq.jobs.evaluation.generation import GenerationReport, tbox_as_rdfxml
from shiq.jobs.evaluation.lubm.generate import ONTOLOGY, generate_lubm_data
from shiq.jobs.evaluation.lubm.tbox import lubm_tbox
from shiq.jobs.evaluation.peers.drivers import (
    PeerQuestion,
    PeerVerdicts,
    make_command,
    read_verdicts,
    write_peer_document,
)
from shiq.jobs.store.manifest import read_manifest
from shiq.reasoner.external import PEERS, MissingReasoner, find_external_reasoner
from tests.tools.bench.data import DATA_SEED, Base, base

T = TypeVar("T")
#: Exit codes that come with an answer: consistent or accepted, inconsistent or refused,
#: undetermined, split.
_ANSWERED = (0, 1, 3, 5)
#: The universities of the large data.
LARGE = 50


class NotMeasured(Exception):
    """Why there is no figure: a peer is absent, a run crashed or reached the limit."""


@dataclass(frozen=True)
class Settings:
    """How to measure. ``data``: the user's copy of real data; ``limit``: seconds for a run;
    ``heap``: of a peer's JVM; ``large``: a directory with LUBM-50's abox.nt.gz and insert.nt,
    and ``large_store``: its store, where they are there already.
    """

    repeats: int = 3
    data: Path | None = None
    limit: float = 900.0
    heap: str = "8g"
    large: Path | None = None
    large_store: Path | None = None


@dataclass(frozen=True)
class Checked:
    """A process of ours that checked or certified: what it used, and its JSON."""

    used: MeterReading
    answer: dict[str, Any]

    @property
    def verdict(self) -> str:
        return str(self.answer["verdict"])

    @property
    def share(self) -> float:
        """|A_add| as a share of |A|, in percent."""
        statistics = self.answer["statistics"]
        return 100.0 * float(statistics["add_set"]) / float(statistics["assertions"])


@dataclass(frozen=True)
class Asked:
    """A process of a peer: what it used, and what it said."""

    used: MeterReading
    told: PeerVerdicts


@dataclass
class Bench:
    """A run of the benchmark below ``folder``; ``seed`` begins those of the batches."""

    folder: Path
    settings: Settings
    seed: int
    say: Callable[[str], None] = lambda what: None
    _made: dict[tuple[object, ...], Any] = field(default_factory=dict)

    def once(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        """What ``make`` gives, made when it is first asked for."""
        if key not in self._made:
            try:
                self._made[key] = make()
            except NotMeasured as why:
                self._made[key] = why
        found = self._made[key]
        if isinstance(found, NotMeasured):
            raise found
        return found

    # --- data -------------------------------------------------------------------------------------

    def base(self, family: str, universities: int, variant: str) -> Base:
        """A base, without a store."""

        def make() -> Base:
            self.say(f"{variant}: preparing the data")
            return base(family, universities, variant, self.settings.data, self.folder)

        return self.once(("base", variant), make)

    def stored(self, family: str, universities: int, variant: str) -> Base:
        """A base whose store is built and certified."""
        found = self.base(family, universities, variant)
        self.once(("store", variant), lambda: self.index(found))
        return found

    def index(self, found: Base) -> Checked:
        """Builds and certifies the store of a base, in the place of the one that is there."""
        self.say(f"{found.dataset.name}: building the store")
        shutil.rmtree(found.store, ignore_errors=True)
        arguments = [
            "index",
            "--tbox",
            str(found.dataset.tbox),
            "--store",
            str(found.store),
            str(found.abox),
        ]
        return self.shiq([*arguments, *_allowed(found.dataset.allow)])

    def lubm(self, universities: int) -> Path:
        """Generated LUBM data with a consistent batch: a directory."""
        if universities == LARGE and self.settings.large:
            return self.settings.large
        folder = self.folder / f"lubm-{universities}"

        def make() -> GenerationReport:
            self.say(f"generating LUBM-{universities}")
            return generate_lubm_data(universities, DATA_SEED, folder, faults=0)

        self.once(("lubm", universities), make)
        return folder

    def lubm_store(self, universities: int) -> Path:
        """The store of `lubm` with LUBM's own TBox. Raises NotMeasured for one that was given
        and has another.
        """
        if universities == LARGE and self.settings.large_store:
            given = self.settings.large_store
            if read_manifest(given).tbox_hash != read_manifest(self.lubm_store(1)).tbox_hash:
                raise NotMeasured(
                    f"{given} is not a store with LUBM's own TBox, without disjointness"
                )
            return given
        store = self.folder / f"lubm-{universities}.kg"

        def make() -> Checked:
            data, tbox = self.lubm(universities), self.folder / "lubm.owl"
            self.folder.mkdir(parents=True, exist_ok=True)
            tbox.write_text(tbox_as_rdfxml(lubm_tbox(False), ONTOLOGY), encoding="utf-8")
            self.say(f"LUBM-{universities}: building the store")
            spark = universities == LARGE and importlib.util.find_spec("pyspark") is not None
            engine = ["--engine", "spark"] if spark else []
            return self.shiq(
                [
                    "index",
                    "--tbox",
                    str(tbox),
                    "--store",
                    str(store),
                    *engine,
                    str(data / "abox.nt.gz"),
                ]
            )

        self.once(("lubm store", universities), make)
        return store

    def file(self, name: str) -> Path:
        """A place for a file of this run."""
        folder = self.folder / "files"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    # --- runs -------------------------------------------------------------------------------------

    def shiq(self, arguments: Sequence[str]) -> Checked:
        """The command line of ours in a process of its own, with ``--json``. Raises NotMeasured
        where it gives no verdict.
        """
        answer = self.folder / "run" / "answer.json"
        answer.unlink(missing_ok=True)
        used = self._ours(["shiq.jobs.cli", *arguments, "-q", "--json", str(answer)])
        if used.is_expired:
            raise NotMeasured(f"shiq {arguments[0]} was stopped after {self.settings.limit:g} s")
        if used.code not in _ANSWERED or not answer.exists():
            raise NotMeasured(f"shiq {arguments[0]}: {_complaint(used)}")
        return Checked(used, json.loads(answer.read_text(encoding="utf-8")))

    def check(self, store: Path, batch: Path, *more: str, allow: Sequence[str] = ()) -> Checked:
        """``shiq check`` of a batch in a cold process; conflicts are counted, not explained,
        unless ``more`` says otherwise.
        """
        explained = "--max-conflicts" in more
        quick = () if explained else ("--max-conflicts", "0")
        return self.shiq(
            [
                "check",
                "--store",
                str(store),
                "--insert",
                str(batch),
                *_allowed(allow),
                *quick,
                *more,
            ]
        )

    def session(
        self,
        store: Path,
        batches: Sequence[Path],
        *,
        single: bool,
        explained: bool = False,
        allow: Sequence[str] = (),
    ) -> list[dict[str, Any]]:
        """Checks in one process with the store open (`tests.tools.bench.worker`): one entry for
        each batch.
        """
        told = {
            "store": str(store),
            "batches": [str(batch) for batch in batches],
            "allow": list(allow),
        }
        told |= {"single": single, "explained": explained}
        used, found = run_worker(
            "tests.tools.bench.worker",
            told,
            self.settings.limit,
            self.folder / "run",
            self._environment(),
        )
        if found is None:
            raise NotMeasured(
                f"a session was stopped after {self.settings.limit:g} s"
                if used.is_expired
                else used.error_summary()
            )
        return found

    def ruled(self, stream: str, system: str) -> tuple[MeterReading, dict[str, Any]]:
        """A stream of `tests.tools.bench.rules` by one system, in a process of its own."""
        if system != "shiq" and importlib.util.find_spec("clingo") is None:
            raise NotMeasured("clingo is absent: pip install clingo")
        self.say(f"{stream}, {system}")
        task = {"stream": stream, "system": system}
        used, found = run_worker(
            "tests.tools.bench.rules",
            task,
            self.settings.limit,
            self.folder / "run",
            self._environment(),
        )
        if found is None:
            raise NotMeasured(
                f"{stream}: stopped after {self.settings.limit:g} s"
                if used.is_expired
                else used.error_summary()
            )
        return used, found

    def _ours(self, arguments: Sequence[str]) -> MeterReading:
        program = [sys.executable, "-m", *arguments]
        return run_metered(
            program,
            self.settings.limit,
            self.folder / "run",
            {**self._environment(), "PYTHONPATH": worker_python_path()},
        )

    def _environment(self) -> dict[str, str]:
        # As where shiq is installed: its modules are compiled once, not by each process.
        compiled = {"PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}
        return {
            **{
                name: value
                for name, value in os.environ.items()
                if name != "PYTHONDONTWRITEBYTECODE"
            },
            **compiled,
        }

    def peer(self, name: str, tbox: Path, abox: Path, batch: Path | None) -> Asked:
        """A peer asked about base and batch (None: the base alone, for a peer that reads one
        document).

        Raises NotMeasured where it is absent, crashes or reaches the limit.
        """
        peer, found = PEERS[name], find_external_reasoner(name)
        if isinstance(found, MissingReasoner):
            raise NotMeasured(f"{peer.title} is absent: {found.reason}")
        self.say(f"{peer.title} on {abox.stem}")
        question = PeerQuestion(tbox, abox, batch or abox, self.folder / "run" / "document.ofn")
        question.document.parent.mkdir(parents=True, exist_ok=True)
        if not peer.is_java:
            from shiq.rdf import read_ontology

            write_peer_document(
                question.document,
                read_ontology([str(tbox)]),
                (abox,) if batch is None else (abox, batch),
            )
        try:
            used = run_metered(
                make_command(found, question, self.settings.heap),
                self.settings.limit,
                self.folder / "run",
            )
        except OperationalError as error:
            raise NotMeasured(f"{peer.title}: {error.message}") from error
        finally:
            question.document.unlink(missing_ok=True)
        answer = read_verdicts(found, used)
        if used.is_expired or answer.trouble:
            raise NotMeasured(
                f"{peer.title}: "
                + (
                    f"stopped after {self.settings.limit:g} s"
                    if used.is_expired
                    else answer.trouble
                )
            )
        return Asked(used, answer)


def _complaint(used: MeterReading) -> str:
    """What our command line says of an error, else what can be made of its output."""
    said = [
        line.removeprefix("shiq: ")
        for line in used.stderr.splitlines()
        if line.startswith("shiq: ")
    ]
    return f"exit code {used.code}: {said[0]}" if said else used.error_summary()


def _allowed(kinds: Sequence[str]) -> list[str]:
    return [word for kind in kinds for word in ("--allow", kind)]
