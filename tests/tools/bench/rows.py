"""The rows of the benchmark: what each measures in one repeat, and what it should reach.

Times are wall seconds unless a figure says CPU; ratios are of two runs in the same repeat, on
the same batch. A repeat has batches of its own, which nothing has seen before.
"""

from __future__ import annotations

import random
import shutil
import statistics
from collections.abc import Mapping
from pathlib import Path

from shiq.jobs.evaluation.lubm.generate import ONTOLOGY
from tests.tools.bench.data import Base, one_by_one, sample
from tests.tools.bench.process import Asked, Checked
from tests.tools.bench.record import Figure
from tests.tools.bench.repeat import Repeat, Row

#: Insertions in the small batch; assertions that a resident session is asked about one by one.
SMALL, SINGLE = 1000, 400
#: Insertions that contradict by themselves what is told of their subject, one by one; the first
#: opens what the others find open.
TOLD = 51
#: Conflicts that are explained, and the seconds for it, where verdict and conflicts are timed
#: apart.
EXPLAINED, EXPLAINING_SECONDS = 10, 60


def _lubm5(repeat: Repeat) -> Base:
    return repeat.bench.stored("lubm", 5, "LUBM-5")


def _random_batch(repeat: Repeat, of: Base) -> Path:
    """5 % of random insertions for this repeat."""
    file = repeat.bench.file(f"{of.abox.stem}-{repeat.number}.nt")
    return repeat.bench.once(
        repeat.key("batch", of.abox), lambda: of.random_batch(repeat.seed, file)
    )


def _pellet(repeat: Repeat) -> Asked:
    found, bench = _lubm5(repeat), repeat.bench
    batch = _random_batch(repeat, found)
    return bench.once(
        repeat.key("pellet"), lambda: bench.peer("pellet", found.dataset.tbox, found.abox, batch)
    )


def _store_open(repeat: Repeat) -> None:
    found = _lubm5(repeat)
    batch = _random_batch(repeat, found)
    first = found.random_batch(repeat.seed + 500_000, repeat.bench.file("first.nt"))
    repeat.bench.say("LUBM-5, store open")
    before, ours = repeat.bench.session(found.store, [first, batch], single=False)
    repeat.expect(ours["verdict"], "consistent", "shiq")
    repeat.values |= {
        "shiq": ours["seconds"],
        "shiq, first batch of the session": before["seconds"],
    }
    repeat.values["shiq, CPU"] = ours["cpu_seconds"]

    def beside() -> None:
        told = _pellet(repeat).told
        step = told.seconds["reading the batch"] + told.seconds["step"]
        step_cpu = told.cpu_seconds["reading the batch"] + told.cpu_seconds["step"]
        repeat.values |= {"Pellet's step": step, "Pellet's step, CPU": step_cpu}
        repeat.values |= {
            "times faster": step / ours["seconds"],
            "times faster, CPU": step_cpu / ours["cpu_seconds"],
        }
        _compare(repeat, "Pellet", told.verdict, ours["verdict"])

    repeat.attempt(beside)


def _cold(repeat: Repeat) -> None:
    found = _lubm5(repeat)
    batch = _random_batch(repeat, found)
    repeat.bench.say("LUBM-5, cold process")
    ours = repeat.bench.check(found.store, batch)
    repeat.expect(ours.verdict, "consistent", "shiq")
    repeat.values |= {
        "shiq": ours.used.wall_seconds,
        "shiq, CPU": ours.used.cpu_seconds,
        "A_add / A": ours.share,
    }

    def beside() -> None:
        asked = _pellet(repeat)
        repeat.values |= {"Pellet": asked.used.wall_seconds, "Pellet, CPU": asked.used.cpu_seconds}
        repeat.values["times faster"] = asked.used.wall_seconds / ours.used.wall_seconds
        repeat.values["times faster, CPU"] = asked.used.cpu_seconds / ours.used.cpu_seconds
        _compare(repeat, "Pellet", asked.told.verdict, ours.verdict)

    repeat.attempt(beside)


def _compare(repeat: Repeat, peer: str, theirs: str, ours: str) -> None:
    if theirs != ours:
        repeat.notes.append(f"{peer} says {theirs}, shiq {ours}")


# --- building -------------------------------------------------------------------------------------


def _build(repeat: Repeat) -> None:
    bench = repeat.bench
    found = bench.base("lubm", 5, "LUBM-5")
    ours = bench.index(found)
    bench.once(("store", found.dataset.name), lambda: ours)
    repeat.expect(ours.verdict, "consistent", "shiq")
    seconds = ours.used.wall_seconds
    repeat.values |= {
        "shiq": seconds,
        "shiq, CPU": ours.used.cpu_seconds,
        "shiq, peak memory": ours.used.peak_mb,
    }
    repeat.values["speed"] = float(ours.answer["statistics"]["assertions"]) / seconds / 1000

    def beside() -> None:
        asked = bench.peer("konclude", found.dataset.tbox, found.abox, None)
        repeat.values |= {
            "Konclude": asked.used.wall_seconds,
            "Konclude, CPU": asked.used.cpu_seconds,
        }
        repeat.values["shiq / Konclude"] = seconds / asked.used.wall_seconds
        repeat.values["shiq / Konclude, CPU"] = ours.used.cpu_seconds / asked.used.cpu_seconds
        _compare(repeat, "Konclude", asked.told.verdict, ours.verdict)

    repeat.attempt(beside)


# --- LUBM-50 and LUBM-1 ---------------------------------------------------------------------------


def _small_check(repeat: Repeat, universities: int) -> Checked:
    """A cold process that checks `SMALL` consistent insertions."""
    bench = repeat.bench
    data, store = bench.lubm(universities), bench.lubm_store(universities)
    batch = bench.file(f"small-{universities}-{repeat.number}.nt")

    def make() -> Checked:
        sample(data / "insert.nt", SMALL, repeat.seed, batch)
        bench.say(f"LUBM-{universities}, {SMALL:,} insertions")
        return bench.check(store, batch)

    found = bench.once(repeat.key("small", universities), make)
    repeat.expect(found.verdict, "consistent", f"shiq on LUBM-{universities}")
    return found


def _scale(repeat: Repeat) -> None:
    large, little = _small_check(repeat, 50), _small_check(repeat, 1)
    repeat.values |= {
        "LUBM-50 / LUBM-1": large.used.wall_seconds / little.used.wall_seconds,
        "LUBM-50 / LUBM-1, CPU": large.used.cpu_seconds / little.used.cpu_seconds,
        "LUBM-50": large.used.wall_seconds,
        "LUBM-50, CPU": large.used.cpu_seconds,
        "LUBM-1": little.used.wall_seconds,
        "LUBM-1, CPU": little.used.cpu_seconds,
        "A_add, LUBM-50": float(large.answer["statistics"]["add_set"]),
    }


def _memory(repeat: Repeat) -> None:
    repeat.values["peak memory"] = _small_check(repeat, 50).used.peak_mb


def _commit(repeat: Repeat) -> None:
    bench = repeat.bench
    check = _small_check(repeat, 50)
    copy = bench.folder / "copy.kg"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(bench.lubm_store(50), copy)
    bench.say("LUBM-50, commit")
    try:
        ours = bench.check(copy, bench.file(f"small-50-{repeat.number}.nt"), "--commit")
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    if not ours.answer["committed"]:
        repeat.wrong.append(f"shiq did not commit: {ours.verdict}")
        return
    commit = float(ours.answer["statistics"]["seconds"]["committing"])
    repeat.values |= {
        "check and commit / check": ours.used.wall_seconds / check.used.wall_seconds,
        "check and commit": ours.used.wall_seconds,
        "check": check.used.wall_seconds,
        "committing alone": commit,
        "check and commit, CPU": ours.used.cpu_seconds,
    }


# --- others ---------------------------------------------------------------------------------------


def _single(repeat: Repeat) -> None:
    bench = repeat.bench
    found = _lubm5(repeat)
    batch = found.random_batch(repeat.seed, bench.file("singles.nt"), SINGLE)
    bench.say(f"{SINGLE} single insertions")
    checked = bench.session(found.store, [batch], single=True)
    for entry in checked:
        repeat.expect(entry["verdict"], "consistent", "shiq")
    # The first check opens what the later ones find open.
    first, *times = [1000 * float(entry["seconds"]) for entry in checked]
    repeat.values |= {
        "median": statistics.median(times),
        "99th percentile": statistics.quantiles(times, n=100)[98],
    }
    repeat.values["median, CPU"] = statistics.median(
        1000 * float(entry["cpu_seconds"]) for entry in checked[1:]
    )
    repeat.values |= {"first": first, "slowest": max(times)}


def _told(repeat: Repeat) -> None:
    bench = repeat.bench
    found = bench.stored("lubm", 5, "LUBM-5 with disjointness")
    batch, known = bench.file("told.nt"), f"{ONTOLOGY}#FullProfessor> ."
    professors = [line for line in one_by_one(found.abox) if line.rstrip().endswith(known)]
    chosen = random.Random(f"bench {repeat.seed}").sample(professors, TOLD)
    batch.write_text(
        "".join(line.replace("#FullProfessor>", "#Course>") for line in chosen), encoding="utf-8"
    )
    bench.say(f"{TOLD} told contradictions")
    _, *checked = bench.session(found.store, [batch], single=True, explained=True)
    for entry in checked:
        repeat.expect(entry["verdict"], "inconsistent", "shiq")
        repeat.expect(str(entry["conflicts"]), "1", "conflicts")
    for name, column in (("median", "seconds"), ("median, CPU", "cpu_seconds")):
        repeat.values[name] = statistics.median(1000 * float(entry[column]) for entry in checked)


def _refuted(repeat: Repeat, found: Base, batch: Path) -> Checked:
    """The verdict on a batch, and apart from it, all of A_add, and how long it takes until
    conflicts are explained too.
    """
    bench = repeat.bench
    bench.say(f"{found.dataset.name}, verdict")
    ours = bench.check(found.store, batch, "--verdict-only", allow=found.dataset.allow)
    repeat.values |= {"shiq": ours.used.wall_seconds, "shiq, CPU": ours.used.cpu_seconds}

    def looked_at() -> None:
        bench.say(f"{found.dataset.name}, A_add")
        whole = bench.check(found.store, batch, allow=found.dataset.allow)
        repeat.expect(whole.verdict, ours.verdict, "shiq, A_add")
        repeat.values |= {"A_add / A": whole.share, "shiq, A_add": whole.used.wall_seconds}
        repeat.values |= {
            "shiq, A_add, CPU": whole.used.cpu_seconds,
            "shiq, peak memory": whole.used.peak_mb,
        }

    def explained() -> None:
        bench.say(f"{found.dataset.name}, conflicts")
        limits = ("--max-conflicts", str(EXPLAINED), "--timeout", str(EXPLAINING_SECONDS))
        again = bench.check(found.store, batch, *limits, allow=found.dataset.allow)
        repeat.values["shiq, with conflicts"] = again.used.wall_seconds
        repeat.values["conflicts explained"] = float(len(again.answer["conflicts"]))

    repeat.attempt(looked_at)
    repeat.attempt(explained)
    return ours


def _uobm(repeat: Repeat) -> None:
    bench = repeat.bench
    found = bench.stored("uobm", 1, "UOBM-1")
    batch = _random_batch(repeat, found)
    ours = _refuted(repeat, found, batch)
    repeat.expect(ours.verdict, "inconsistent", "shiq")

    def beside() -> None:
        asked = bench.peer("hermit", found.dataset.tbox, found.abox, batch)
        repeat.values |= {"HermiT": asked.used.wall_seconds, "HermiT, CPU": asked.used.cpu_seconds}
        repeat.values["times faster"] = asked.used.wall_seconds / ours.used.wall_seconds
        repeat.values["times faster, CPU"] = asked.used.cpu_seconds / ours.used.cpu_seconds
        _compare(repeat, "HermiT", asked.told.verdict, ours.verdict)

    repeat.attempt(beside)


def _disjoint(repeat: Repeat) -> None:
    bench = repeat.bench
    found = bench.stored("lubm", 5, "LUBM-5 with disjointness")
    batch = found.consistent_batch(repeat.seed, bench.file(f"disjoint-{repeat.number}.nt"))
    bench.say("LUBM-5 with disjointness")
    ours = bench.check(found.store, batch)
    repeat.expect(ours.verdict, "consistent", "shiq")
    repeat.values |= {
        "A_add / A": ours.share,
        "shiq": ours.used.wall_seconds,
        "shiq, CPU": ours.used.cpu_seconds,
    }


def _npd(repeat: Repeat) -> None:
    found = repeat.bench.stored("npd", 1, "NPD")
    ours = _refuted(repeat, found, _random_batch(repeat, found))
    repeat.expect(ours.verdict, "inconsistent", "shiq")


_PERCENT, _SECONDS, _FOR_INFORMATION = "%", "s", 0
_OURS = (Figure("shiq", _SECONDS), Figure("shiq, CPU", _SECONDS))
_FASTER_CPU = Figure("times faster, CPU", "×", better=1)


def _faster(target: float) -> Figure:
    return Figure("times faster", "×", target, better=1)


def _theirs(*names: str) -> tuple[Figure, ...]:
    return tuple(Figure(name, _SECONDS, better=_FOR_INFORMATION) for name in names)


_CONFLICTS = (
    Figure("shiq, A_add", _SECONDS),
    Figure("shiq, A_add, CPU", _SECONDS),
    Figure("shiq, peak memory", "MiB"),
    Figure("shiq, with conflicts", _SECONDS),
    Figure("conflicts explained", "", better=_FOR_INFORMATION),
)

ROWS: Mapping[str, Row] = {
    row.name: row
    for row in (
        Row(
            "store-open",
            "LUBM-5, 5 % batch, store open, beside Pellet's incremental step with its parsing",
            (
                _faster(12),
                _FASTER_CPU,
                *_OURS,
                Figure("shiq, first batch of the session", _SECONDS),
                *_theirs("Pellet's step", "Pellet's step, CPU"),
            ),
            _store_open,
        ),
        Row(
            "cold",
            "LUBM-5, 5 % batch, cold process, beside Pellet's load, first check and step",
            (
                _faster(15),
                _FASTER_CPU,
                *_OURS,
                Figure("A_add / A", _PERCENT),
                *_theirs("Pellet", "Pellet, CPU"),
            ),
            _cold,
        ),
        Row(
            "build",
            "LUBM-5's store built and certified from N-Triples, beside Konclude's load and check",
            (
                Figure("shiq / Konclude", "", 1.0),
                Figure("shiq / Konclude, CPU", ""),
                Figure("speed", "k/s", 100.0, better=1),
                *_OURS,
                Figure("shiq, peak memory", "MiB"),
                *_theirs("Konclude", "Konclude, CPU"),
            ),
            _build,
        ),
        Row(
            "scale",
            "1,000 insertions, cold process: LUBM-50 against LUBM-1",
            (
                Figure("LUBM-50 / LUBM-1", "", 1.3),
                Figure("LUBM-50 / LUBM-1, CPU", ""),
                Figure("LUBM-50", _SECONDS, 1.0),
                Figure("LUBM-50, CPU", _SECONDS),
                Figure("LUBM-1", _SECONDS),
                Figure("LUBM-1, CPU", _SECONDS),
                Figure("A_add, LUBM-50", ""),
            ),
            _scale,
        ),
        Row(
            "single",
            "one insertion at a time into LUBM-5, resident session",
            (
                Figure("median", "ms", 5.0),
                Figure("99th percentile", "ms", 20.0),
                Figure("median, CPU", "ms"),
                Figure("first", "ms"),
                Figure("slowest", "ms", better=_FOR_INFORMATION),
            ),
            _single,
        ),
        Row(
            "told",
            "one told contradiction at a time, with its conflict, LUBM-5 with disjointness, resident session",
            (Figure("median", "ms", 10.0), Figure("median, CPU", "ms")),
            _told,
        ),
        Row(
            "uobm",
            "UOBM-1, 5 % batch, cold process, the verdict alone beside HermiT from scratch; A_add and conflicts apart",
            (
                Figure("A_add / A", _PERCENT, 6.0),
                _faster(5),
                _FASTER_CPU,
                *_OURS,
                *_CONFLICTS,
                *_theirs("HermiT", "HermiT, CPU"),
            ),
            _uobm,
        ),
        Row(
            "disjoint",
            "LUBM-5 with disjointness, consistent 5 % batch, cold process",
            (Figure("A_add / A", _PERCENT, 5.0), *_OURS),
            _disjoint,
        ),
        Row(
            "npd",
            "NPD, its whole TBox less two axioms, 5 % batch, cold process; conflicts apart",
            (Figure("A_add / A", _PERCENT, 4.0), *_OURS, *_CONFLICTS),
            _npd,
        ),
        Row(
            "commit",
            "1,000 insertions into LUBM-50 checked and committed, cold process, against the check alone",
            (
                Figure("check and commit / check", "", 2.0),
                Figure("check and commit", _SECONDS),
                Figure("check", _SECONDS),
                Figure("committing alone", _SECONDS),
                Figure("check and commit, CPU", _SECONDS),
            ),
            _commit,
        ),
        Row(
            "memory",
            "a check of 1,000 insertions, LUBM-50",
            (Figure("peak memory", "MiB", 1024.0),),
            _memory,
        ),
    )
}
