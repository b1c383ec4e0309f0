"""Write runs as OpenLineage events to a file of JSON lines: START, then COMPLETE with the verdict,
FAIL or ABORT.

A check that finds a batch inconsistent is complete: the facets of its datasets say that the
assertion `consistent` failed.
"""

from __future__ import annotations

import json
import os
import re
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import shiq
from shiq.answers.verdict import Verdict
from shiq.errors import OperationalError
from shiq.files import report_write_errors
from shiq.inputs.sources import TABLE
from shiq.jobs.pages import escape_and_cut
from shiq.remote.place import ENDPOINT

_PRODUCER, _SPEC = f"urn:shiq:{shiq.__version__}", "https://openlineage.io/spec"
_SCHEMA = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs"
#: Of the facets that are not in their first version.
_FIRST, _VERSIONS = "1-0-0", {"DataQualityAssertionsDatasetFacet": "1-1-0"}
#: What a request names as its batch.
_BATCH = ("insertions", "deletions", "changes")
_VERSION = re.compile(r"(?P<name>.*): (?:Delta version|Iceberg snapshot) (?P<version>\d+)")


@dataclass
class RunEvents:
    """Context manager around one run of ``command`` that writes its OpenLineage events. ``inputs``:
    see `shiq.jobs.commands.running.Request`.

    Raises: OperationalError where ``file`` cannot be written as the run begins; where it cannot
    at the end, stderr says so, and what was found, and done, stands.
    """

    file: Path
    command: str
    inputs: Mapping[str, Any]
    result: shiq.Result | None = None
    run: str = field(default_factory=lambda: str(uuid.uuid4()))

    def record_result(self, result: shiq.Result) -> shiq.Result:
        """Keep ``result`` for the final event, and return it."""
        self.result = result
        return result

    def __enter__(self) -> RunEvents:
        self._write_event("START", {})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        try:
            self._write_end(error)
        except OperationalError as fault:
            print(f"{fault} (the end of the run is not reported there)", file=sys.stderr)

    def _write_end(self, error: BaseException | None) -> None:
        """Write the last event of the run: COMPLETE, FAIL or ABORT."""
        if isinstance(error, Exception):
            self._write_event(
                "FAIL",
                {
                    "errorMessage": _make_facet(
                        "ErrorMessageRunFacet", message=str(error), programmingLanguage="Python"
                    )
                },
            )
        elif self.result is None:
            self._write_event("ABORT", {})
        else:
            found = self.result
            verdict = {
                "verdict": found.verdict.value,
                "reason": found.reason,
                "conflicts": len(found.conflicts),
            }
            asked = {"evidenceRun": found.evidence.run, "insertions": found.statistics.insertions}
            self._write_event("COMPLETE", {"shiq_verdict": _make_facet("", **verdict, **asked)})

    def _write_event(self, kind: str, facets: Mapping[str, Any]) -> None:
        """Write one OpenLineage event of the type ``kind`` (START, COMPLETE, FAIL or ABORT) with
        these facets.
        """
        store, found = self.inputs.get("store") or "", self.result
        snapshot = None if found is None else found.committed or found.snapshot or None
        held = [_dataset(store, snapshot)] if store else []
        is_check, name = (
            self.command == "check",
            f"{self.command} {held[0]['name']}" if held else self.command,
        )
        is_written = (
            found is not None and bool(found.committed)
            if is_check
            else kind in ("START", "COMPLETE")
        )
        event = {
            "eventType": kind,
            "eventTime": datetime.now(timezone.utc)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "producer": _PRODUCER,
            "schemaURL": f"{_SCHEMA}/RunEvent",
            "run": {"runId": self.run, "facets": dict(facets)},
            "job": {"namespace": os.environ.get("OPENLINEAGE_NAMESPACE", "shiq"), "name": name},
            "inputs": [
                *self._input_datasets(_BATCH, is_check),
                *self._input_datasets(("abox",), not is_check),
                *self._input_datasets(("tbox",)),
                *held * is_check,
            ],
            "outputs": held if is_written else [],
        }
        with report_write_errors(self.file), open(self.file, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(event) + "\n")

    def _input_datasets(
        self, sides: tuple[str, ...], is_judged: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Describe the inputs of ``sides`` ("insertions", "deletions" and such) as datasets with
        versions, and with the verdict if ``is_judged``.
        """
        notes = self.result.evidence.notes if self.result else ()
        taken = {
            match["name"]: match["version"] for match in map(_VERSION.fullmatch, notes) if match
        }
        judged = {}
        if is_judged and self.result is not None:
            assertions = list(_quality_assertions(self.result))
            judged = {
                "inputFacets": {
                    "dataQualityAssertions": _make_facet(
                        "DataQualityAssertionsDatasetFacet", assertions=assertions
                    )
                }
            }
        for side in sides:
            given = self.inputs.get(side) or ()
            for name in (given,) if isinstance(given, str) else given:
                version = self.inputs.get("to_version") if side == "changes" else taken.get(name)
                yield {**_dataset(name, version), **judged}


def _dataset(name: str, version: object = None) -> dict[str, Any]:
    """Describe a source by OpenLineage's naming of datasets."""
    place = urlsplit(name.removeprefix(ENDPOINT)) if "://" in name else None
    if name.startswith(TABLE):
        named = {"namespace": "spark", "name": name.removeprefix(TABLE)}
    elif place and place.netloc:
        named = {
            "namespace": f"{place.scheme}://{place.netloc}",
            "name": place.path.lstrip("/") or "/",
        }
    else:
        named = {"namespace": "file", "name": str(Path(place.path if place else name).absolute())}
    facets = (
        {}
        if version is None
        else {
            "facets": {
                "version": _make_facet("DatasetVersionDatasetFacet", datasetVersion=str(version))
            }
        }
    )
    return {**named, **facets}


def _quality_assertions(result: shiq.Result) -> Iterator[dict[str, Any]]:
    """Data quality assertions: the verdict, and a failed one for each cause."""
    is_consistent = result.verdict is Verdict.CONSISTENT
    yield {
        "assertion": "consistent",
        "success": is_consistent,
        "severity": "error" if result.verdict is Verdict.INCONSISTENT else "warn",
        "name": "shiq",
        "description": "The base, the batch and the ontology have a model together.",
        "expected": Verdict.CONSISTENT.value,
        "actual": result.verdict.value,
    }
    for group in result.groups:
        yield {
            "assertion": "no-contradiction",
            "success": False,
            "severity": "error",
            "name": group.pattern.id,
            "description": escape_and_cut(group.pattern.sentence or group.pattern.title, 1000),
            "expected": "0",
            "actual": str(len(group.conflicts)),
            "content": "\n".join(group.pattern.manchester),
            "contentType": "manchester",
        }


def _make_facet(name: str, **values: Any) -> dict[str, Any]:
    """Make an OpenLineage facet with the URL of its schema; if ``name`` is empty, a facet that only
    shiq defines.
    """
    schema = (
        f"{_SPEC}/facets/{_VERSIONS.get(name, _FIRST)}/{name}.json#/$defs/{name}"
        if name
        else f"{_SCHEMA}/RunFacet"
    )
    return {"_producer": _PRODUCER, "_schemaURL": schema, **values}
