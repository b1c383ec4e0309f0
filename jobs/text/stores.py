"""What a store holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from itertools import starmap
from typing import Any

from jobs.text.results import SHOWN, safe
from shiq.errors import at_store
from shiq.verdict import Leftover


def status_text(found: Mapping[str, Any]) -> str:
    """`jobs.store.status` for people."""
    certificate = found["certificate"]
    certified = "not certified"
    if certificate:
        certified = f"{certificate['verdict']}, decided by {certificate['reasoner']} on {certificate['date']}"
        certified += f": {certificate['reason']}" if certificate["reason"] else ""
    tables = found["tables"].values()
    kinds = ", ".join(
        f"{kind} {found[f'{kind}_assertions']:,}" for kind in ("class", "role", "data")
    )
    text = "\n".join(
        [
            f"snapshot {found['snapshot']}, made {found['created']}",
            f"certificate: {certified}",
            "the model that certified it is kept: checks patch it (criterion model)"
            if found["completed"]
            else "no model is kept: checks use the criterion clausal (`shiq certify --store DIR` makes one)",
            f"{found['assertions']:,} assertions ({kinds}) about {found['individuals']:,} individuals",
            f"{found['axioms']:,} axioms; {_leftovers(found)}{_agreed(certificate or {})}",
            *_left_out(found["left_out"], found["left_out_unkept"]),
            *_asides(found["set_aside"]),
            *starmap(_feed_line, sorted(found["taken"].items())),
            f"{sum(t['files'] for t in tables):,} files, {sum(t['bytes'] for t in tables) / 2**20:,.1f} MiB, "
            f"{sum(t['removed'] for t in tables):,} removed rows",
            *_digests(found),
            *_snapshots(found["snapshots"]),
        ]
    )
    return at_store(text, found["store"])


def _leftovers(found: Mapping[str, Any]) -> str:
    """The leftovers of base and TBox, in axioms, assertions and lines; behind that the triples,
    where these are more.
    """
    number, triples = found["leftovers"], found["leftover_triples"]
    return f"{number:,} leftovers{f' ({triples:,} triples)' if triples != number else ''}"


def _agreed(certificate: Mapping[str, Any]) -> str:
    """Which leftovers of the base were allowed when it was certified."""
    counts, allowed = certificate.get("counts", {}), certificate.get("allowed", ())
    parts = [f"{counts[kind]:,} {kind}" for kind in sorted(allowed) if counts.get(kind)]
    return f", of which allowed, once for all: {', '.join(parts)}" if parts else ""


def left_out_text(one: Leftover) -> str:
    """Something that was left out as it stood, below a comment that says where, and why."""
    text = "".join(f"{_as_it_stands(line)}\n" for line in one.text.split("\n")) if one.text else ""
    return f"# {safe(str(one))}{_times(one)}\n{text}"


def _as_it_stands(line: str) -> str:
    return "\t".join(map(safe, line.split("\t")))


def _times(one: Leftover) -> str:
    return f" [{one.number:,} of them]" if one.number > 1 else ""


def _left_out(counts: Mapping[str, int], unkept: int) -> list[str]:
    """What of the data was not understood, and is in no check, where there is any."""
    parts = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    told = (
        [
            f"left out when the data was read, and in no check: {parts} (`shiq export --store DIR --aside` prints them)"
        ]
        if parts
        else []
    )
    return (
        [*told, f"of these {unkept:,} are only counted, or shortened: they are in the data alone"]
        if unkept
        else told
    )


def _feed_line(feed: str, number: int) -> str:
    """The last batch of a feed that was taken in: a table's version, a snapshot's time, or a
    number in a query of Spark's.
    """
    name, mark, table = feed.rpartition("#")
    if not mark:
        return f"taken of the query {table}: up to batch {number}"
    if table == "iceberg":
        moment = datetime.fromtimestamp(number / 1000, timezone.utc).isoformat(
            timespec="milliseconds"
        )
        return f"taken of {name}: up to the snapshot of {moment}"
    return f"taken of {name}: up to version {number}"


def _asides(counts: Mapping[str, int]) -> list[str]:
    """What belongs to the data and was set aside because it contradicts, where there is any."""
    parts = ", ".join(f"{count:,} {why}" for why, count in sorted(counts.items()))
    return (
        [f"set aside, and in no check: {parts} (`shiq export --store DIR --set-aside` prints them)"]
        if parts
        else []
    )


def _digests(found: Mapping[str, Any]) -> list[str]:
    """What is known of whether the files are as they were written."""
    told = []
    if verified := found.get("verified"):
        told.append(
            f"verified: {verified['files']:,} files, {verified['bytes'] / 2**20:,.1f} MiB, are as they were written"
        )
    return told


def _snapshots(kept: Sequence[Mapping[str, Any]]) -> list[str]:
    """The snapshots that are kept, latest first."""
    lines = [f"{len(kept):,} snapshot{'s' if len(kept) != 1 else ''} kept:"]
    for past in kept[:SHOWN]:
        verdict = past["verdict"] or "not certified"
        lines.append(
            f"  {past['snapshot']}, made {past['created']}: {past['assertions']:,} assertions, {verdict}"
        )
    if len(kept) > SHOWN:
        lines.append(f"  … down to {kept[-1]['snapshot']}: --json FILE lists them all.")
    return lines
