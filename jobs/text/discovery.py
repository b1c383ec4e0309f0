"""Rules learnt from a stream, as text."""

from __future__ import annotations

from collections.abc import Collection

from shiq.jobs.text.results import SHOWN, leftovers_text, safe, seconds_text
from shiq.streams.discovery.miner import RuleMiner
from shiq.streams.discovery.sentences import sentence
from shiq.streams.discovery.stream import Mining
from shiq.support import pluralize


def discovery_text(
    result: Mining,
    miner: RuleMiner,
    allowed: Collection[str],
    *,
    verbose: bool,
) -> str:
    """What `shiq stream discover` prints: the verdict, the last window's rules, figures."""
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
            f"  no window is full: the stream has fewer than {pluralize(miner.settings.window, 'snapshot')}"
        )
    else:
        last = result.windows[-1]
        lines.append(
            f"  snapshots {last['window'][0]} to {last['window'][1]}: {pluralize(len(last['rules']), 'rule')}"
            + (
                f", {last['untold']:,} more not asked for (--min-lift, --head)"
                if "untold" in last
                else ""
            )
        )
        shown = last["rules"] if verbose else last["rules"][:SHOWN]
        lines += [f"    {safe(sentence(rule, miner.ontology.labels))}" for rule in shown]
    if result.stopped:
        lines.append(f"  stopped at {miner.settings.max_rules:,} rules (--max-rules)")
    lines += leftovers_text(result.leftovers, allowed, verbose=verbose)
    spent = seconds_text(result.statistics["seconds"])
    figures = result.statistics
    told = [
        pluralize(figures["events"], "event"),
        pluralize(figures["triples"], "triple"),
        pluralize(figures["windows"], "window"),
    ]
    return "\n".join([*lines, "", f"{', '.join(told)}; {miner.settings.method}; {spent}"])
