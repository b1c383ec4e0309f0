"""A knowledge graph as an asset, with a check that names the causes.

    dagster dev -f definitions.py

The variable SHIQ_NIGHT names the folder that has `kg/` (the store) and `tonight.ttl` (the batch).
"""

import os
from pathlib import Path

import dagster

import shiq

NIGHT = Path(os.environ.get("SHIQ_NIGHT", "."))
STORE, BATCH = NIGHT / "kg", NIGHT / "tonight.ttl"


@dagster.asset
def tonight() -> dagster.MaterializeResult:
    """What arrived: whatever writes it stands here."""
    return dagster.MaterializeResult(metadata={"bytes": BATCH.stat().st_size})


@dagster.asset_check(asset=tonight, blocking=True)
def contradicts_nothing() -> dagster.AssetCheckResult:
    """Whether tonight's batch contradicts the ontology and the data that is there already."""
    with shiq.open_store(STORE) as session:
        result = session.check(BATCH)
    return dagster.AssetCheckResult(
        passed=result.verdict is shiq.Verdict.CONSISTENT,
        severity=dagster.AssetCheckSeverity.ERROR,
        description=result.reason or result.verdict.value,
        metadata={
            "verdict": result.verdict.value,
            "conflicts": len(result.conflicts),
            "first": result.conflicts[0].insertions[0] if result.conflicts else "",
        },
    )


@dagster.asset(deps=[tonight])
def knowledge_graph() -> dagster.MaterializeResult:
    """The store, with tonight's batch: only where the check passed."""
    with shiq.open_store(STORE) as session:
        session.check(BATCH, commit=True).raise_for_verdict()
    return dagster.MaterializeResult()


defs = dagster.Definitions(assets=[tonight, knowledge_graph], asset_checks=[contradicts_nothing])
