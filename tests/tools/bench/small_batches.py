"""The row of the benchmark about a thousand insertions that meet at hubs."""

from __future__ import annotations

from collections.abc import Mapping

from tests.tools.bench.data import swapped
from tests.tools.bench.process import Checked, NotMeasured
from tests.tools.bench.record import Figure
from tests.tools.bench.repeat import Repeat, Row
from tests.tools.bench.rows import SMALL


def _swapped_check(repeat: Repeat, universities: int) -> Checked:
    """A cold process that checks `SMALL` insertions that exchange objects over the whole base
    and that the gate accepts.
    """
    bench = repeat.bench
    data, store = bench.lubm(universities), bench.lubm_store(universities)
    drawn, accepted, aside, batch = (
        bench.file(f"{name}-{universities}-{repeat.number}.nt")
        for name in ("drawn", "accepted", "aside", "swapped")
    )
    swapped(data / "abox.nt.gz", 2 * SMALL, repeat.seed, drawn)
    sides = ["--accepted", str(accepted), "--quarantine", str(aside)]
    bench.shiq(["gate", "--store", str(store), "--insert", str(drawn), "--mode", "split", *sides])
    lines = accepted.read_text(encoding="utf-8").splitlines(keepends=True)[:SMALL]
    if len(lines) < SMALL:
        raise NotMeasured(f"only {len(lines)} of {2 * SMALL:,} swapped objects contradict nothing")
    batch.write_text("".join(lines), encoding="utf-8")
    bench.say(f"LUBM-{universities}, {SMALL:,} swapped objects")
    found = bench.check(store, batch)
    repeat.expect(found.verdict, "consistent", f"shiq on LUBM-{universities}")
    return found


def _hubs(repeat: Repeat) -> None:
    large, little = _swapped_check(repeat, 50), _swapped_check(repeat, 1)
    repeat.values |= {
        "LUBM-50 / LUBM-1": large.used.wall_seconds / little.used.wall_seconds,
        "LUBM-50 / LUBM-1, CPU": large.used.cpu_seconds / little.used.cpu_seconds,
        "LUBM-50": large.used.wall_seconds,
        "LUBM-1": little.used.wall_seconds,
        "A_add, LUBM-50": float(large.answer["statistics"]["add_set"]),
    }


SMALL_BATCH_ROWS: Mapping[str, Row] = {
    row.name: row
    for row in (
        Row(
            "hubs",
            "1,000 insertions that swap objects within a property over the whole base, cold process: LUBM-50 against LUBM-1",
            (
                Figure("LUBM-50 / LUBM-1", "", 1.2),
                Figure("LUBM-50 / LUBM-1, CPU", ""),
                Figure("LUBM-50", "s"),
                Figure("LUBM-1", "s"),
                Figure("A_add, LUBM-50", ""),
            ),
            _hubs,
        ),
    )
}
