"""Rules learnt from a stream, as text."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jobs.text.results import SHOWN, leftovers_text, safe, seconds_text
from shiq.amounts import count
from streams.discovery.miner import RuleMiner
from streams.discovery.sentences import sentence
from streams.discovery.stream import Mining


def discovery_text(
    result: Mining,
    miner: RuleMiner,
    left_out: Sequence[str],
    allowed: Collection[str],
    *,
    verbose: bool,
) -> str:
    """What `shiq stream discover` prints: the verdict, the last window's rules, what was left
    out, figures.
    """
    lines = [result.verdict.value.upper()]
    if miner.windows.knowledge.base is None:
        lines.append(
            "  the ontology and the static assertions contradict each other: nothing was mined"
        )
    if result.inconsistent:
        lines.append(
            f"  left out, since they contradict the ontology: snapshots {', '.join(map(str, result.inconsistent))}"
        )
    if not result.windows:
        lines.append(
            f"  no window is full: the stream has fewer than {count(miner.settings.window, 'snapshot')}"
        )
    else:
        last = result.windows[-1]
        lines.append(
            f"  snapshots {last['window'][0]} to {last['window'][1]}: {count(len(last['rules']), 'rule')}"
        )
        shown = last["rules"] if verbose else last["rules"][:SHOWN]
        lines += [f"    {safe(sentence(rule, miner.ontology.labels))}" for rule in shown]
    if result.stopped:
        lines.append(f"  stopped at {miner.settings.max_rules:,} rules (--max-rules)")
    lines += [f"  not exported: {safe(text)}" for text in left_out]
    lines += leftovers_text(result.leftovers, allowed, verbose=verbose)
    spent = seconds_text(result.statistics["seconds"])
    figures = result.statistics
    told = [
        count(figures["events"], "event"),
        count(figures["triples"], "triple"),
        count(figures["windows"], "window"),
    ]
    return "\n".join([*lines, "", f"{', '.join(told)}; {miner.settings.method}; {spent}"])
