"""Tonight's batch goes through the gate; what was set aside is told, and an undetermined night fails.

The variable SHIQ_NIGHT names the folder that has `kg/` (the store) and `in/DAY.ttl` (the batches).
"""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import dag, task

NIGHT = os.environ.get("SHIQ_NIGHT", "/shared")


# One run at a time: of two commits at once one would be refused.
@dag(schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def shiq_night():
    # 0: all was taken; 5: a part was taken. Every other exit code fails the task, and nothing was taken.
    gate = BashOperator(
        task_id="gate",
        bash_command=f"cd {NIGHT} && mkdir -p out aside && rm -f out/{{{{ ds }}}}.json && "
        "shiq gate -q --store kg --insert in/{{ ds }}.ttl --mode split --max-quarantine 40% --commit "
        "--quarantine aside/{{ ds }}.nq --json out/{{ ds }}.json --metrics out/shiq.prom || [ $? -eq 5 ]",
        retries=0,
    )

    @task
    def outcome(ds: str | None = None) -> dict[str, object]:
        answer = json.loads(Path(NIGHT, "out", f"{ds}.json").read_text("utf-8"))
        return {"outcome": answer["outcome"], "aside": len(answer["set_aside"])}

    @task.branch
    def next_step(told: dict[str, object]) -> str:
        return {"accepted": "load", "split": "ask_the_source"}[str(told["outcome"])]

    @task
    def load() -> None:
        print("everything was taken in")

    @task
    def ask_the_source(told: dict[str, object]) -> None:
        print(f"{told['aside']} lines were set aside; each has its reason beside it")

    told = outcome()
    gate >> told
    next_step(told) >> [load(), ask_the_source(told)]


shiq_night()
