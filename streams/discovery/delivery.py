"""Where the reports of a run go besides the JSON: rows, what snapshots entail, a folder to read,
rules to run.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiq.files import write_whole
from shiq.streams.discovery.atomsets import Atom, text_of
from shiq.streams.discovery.export import exported_text
from shiq.streams.discovery.report import WindowReport, rules_table
from shiq.streams.discovery.sentences import page
from shiq.streams.front.rejects import leftover_rows

if TYPE_CHECKING:
    from shiq.streams.discovery.miner import RuleMiner
    from shiq.streams.discovery.stream import Mining

SCHEMA_VERSION = 1


class Delivery:
    """Hands on the reports of ``miner``. ``rows``: takes what ``--out`` has; the others are file
    names, None for none.
    """

    def __init__(
        self,
        miner: RuleMiner,
        rows: Callable[[Iterable[Any]], None],
        entailments: str | None = None,
        exported: str | None = None,
        folder: str | None = None,
    ) -> None:
        self.miner, self.rows, self.exported, self.folder = miner, rows, exported, folder
        self.entailments = entailments
        self.last: WindowReport | None = None
        self._entailed: dict[int, list[str]] = {}

    def take(self, report: WindowReport) -> None:
        """Hands on one report."""
        self.rows([report.to_dict()])
        self.last = report
        if self.entailments is not None:
            snapshots = self.miner.windows.snapshots
            for index in range(report.window[0], report.window[1] + 1):
                found: Iterable[Atom] = snapshots.entailed(index) or ()
                self._entailed[index] = sorted(text_of([atom]) for atom in found)

    def finish(self, result: Mining) -> list[str]:
        """Writes the files; lines that say what was exported and what was not, which the
        statistics count.
        """
        if self.entailments is not None:
            self._write_entailments(self.entailments)
        if self.folder is not None:
            self._write_folder(Path(self.folder), result)
        if self.exported is None:
            return []
        text, export = exported_text(self.miner, self.last, self.exported.endswith(".lp"))
        write_whole(Path(self.exported), text)
        result.statistics["export"] = export.counts()
        return export.lines(self.miner.settings.min_share)

    def document(self, result: Mining) -> dict[str, Any]:
        """As ``--json`` writes it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "verdict": result.verdict.value,
            "settings": self.miner.settings.to_dict(),
            "vocabulary": sorted(self.miner.ontology.classes),
            "leftovers": leftover_rows(result.leftovers),
            "statistics": result.statistics,
            "windows": result.windows,
        }

    def _write_entailments(self, file: str) -> None:
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        rows = [(index, atom) for index, atoms in sorted(self._entailed.items()) for atom in atoms]
        columns = {
            "snapshot": pa.array([i for i, _ in rows], pa.int64()),
            "atom": pa.array([a for _, a in rows], pa.string()),
        }
        whole = io.BytesIO()
        pq.write_table(pa.table(columns), whole)
        write_whole(Path(file), whole.getvalue())

    def _write_folder(self, folder: Path, result: Mining) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder.mkdir(parents=True, exist_ok=True)
        windows = [
            {name: value for name, value in window.items() if name != "rules"}
            for window in result.windows
        ]
        flat = [{name: _flat(value) for name, value in window.items()} for window in windows]
        names = sorted({name for row in flat for name in row})
        pq.write_table(
            pa.table({name: [row.get(name) for row in flat] for name in names}),
            folder / "windows.parquet",
        )
        tables = [
            rules_table(window["rules"]).append_column(
                "window", pa.array([window["window"]] * len(window["rules"]), pa.list_(pa.int64()))
            )
            for window in result.windows
        ]
        whole = (
            pa.concat_tables(tables, promote_options="permissive") if tables else rules_table([])
        )
        pq.write_table(whole, folder / "rules.parquet")
        write_whole(
            folder / "rules.md", page(result, self.miner.ontology.labels, self.miner.settings)
        )


def _flat(value: Any) -> Any:
    """A value as a table takes it: counts by number, and rules that are counted, as JSON."""
    import json

    return (
        json.dumps(value)
        if isinstance(value, dict)
        or (isinstance(value, list) and any(isinstance(v, dict) for v in value))
        else value
    )
