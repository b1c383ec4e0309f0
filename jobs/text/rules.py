"""Stream rules: how a program is evaluated, what came of a stream."""

from __future__ import annotations

from jobs.text.results import leftovers_text, seconds_text
from shiq.amounts import count
from streams.rules import Program
from streams.rules.planned import plan_lines
from streams.rules.splitting import flat
from streams.rules.stream import StreamEvaluation


def explained_text(program: Program) -> str:
    """What `shiq stream rules --explain` prints: rewriting, graphs, plans, horizons, the key."""
    checked, found = program.checked, program.splitting
    flattened, described = flat(checked.rules)
    names = [", ".join(members) for members in found.members]
    facts = sum(map(len, checked.facts.values()))
    lines = [
        f"{count(len(checked.rules), 'rule')}, {count(facts, 'fact')}; timeline in {program.unit}",
        "",
        "Flat rewriting",
    ]
    lines += [f"  {rule}" for rule in flattened]
    lines += [f"  {name:<20} is {meaning}" for name, meaning in described.items()]
    lines += ["", "Dependencies (→: uses; <: through a window)"]
    lines += [
        f"  {p} {'<' if label else '→'} {q}" for (p, q), label in sorted(found.labels.items())
    ]
    lines += ["", "Components, in order of evaluation"]
    lines += [f"  {number + 1}. {name}" for number, name in enumerate(names)]
    before = [f"{{{names[i]}}} ≺ {{{names[j]}}}" for i, j in sorted(found.precedes)]
    lines += [f"  {'; '.join(before)}" if before else "  none precedes (≺) another"]
    lines += ["", "Macro-nodes"]
    lines += [
        f"  {number}. {'; '.join(names[i] for i in run)}"
        for number, run in enumerate(found.macro_nodes, 1)
    ]
    recursive = ", ".join(
        str(rule.position.line) for rule in checked.rules if found.is_streaming_recursive(rule)
    )
    lines += ["", f"Plans, by line; streaming-recursive: {recursive or 'none'}"]
    lines += [f"  {line}" for line in plan_lines(checked, program.functions)]
    lines += ["", "Horizons: how many points back each predicate is kept"]
    lines += [
        f"  {predicate}: {horizon}" for predicate, horizon in sorted(checked.horizons.items())
    ] or ["  none"]
    return "\n".join([*lines, "", str(program.key)])


def evaluated_text(result: StreamEvaluation, *, verbose: bool = False) -> str:
    """What `shiq stream rules` prints behind the rows: what was left out, figures."""
    figures = result.statistics
    told = [count(figures["points"], "point"), count(figures["atoms"], "atom")]
    told += [
        f"{figures[name]:,} {name}"
        for name in ("rejected", "late", "duplicates", "unmapped", "unwritable")
        if figures[name]
    ]
    spent = seconds_text(figures["seconds"])
    left = leftovers_text(result.leftovers, (), verbose=verbose)
    undefined = [f"note: {said}" for said in figures.get("undefined", ())]
    return "\n".join(
        [*left, *undefined, f"{', '.join(told)}; {count(figures['shards'], 'shard')}; {spent}"]
    )
