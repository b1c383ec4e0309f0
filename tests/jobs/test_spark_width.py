"""For how many cores tasks are cut: what the user says, else what the cluster may have and not
what has registered by now.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")

from shiq.errors import UsageError
from shiq.jobs.spark.session import TASKS_SETTING, task_count

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST = "spark.dynamicAllocation.maxExecutors"
DYNAMIC = {
    "spark.master": "yarn",
    "spark.dynamicAllocation.enabled": "true",
    "spark.executor.cores": "4",
}


def width(settings: dict[str, str], registered: int = 2) -> int:
    """The width of a session with ``settings``, of which ``registered`` cores are there by now."""
    context = SimpleNamespace(defaultParallelism=registered)
    return task_count(cast("SparkSession", SimpleNamespace(conf=settings, sparkContext=context)))


def test_the_setting_counts_whatever_there_is() -> None:
    for more in ({}, DYNAMIC, {"spark.default.parallelism": "7"}):
        assert width({**more, TASKS_SETTING: "48"}, registered=100) == 48
    for wrong in ("0", "-3", "many", ""):
        with pytest.raises(UsageError, match=TASKS_SETTING):
            width({TASKS_SETTING: wrong})


def test_a_cluster_that_grows_counts_as_large_as_it_may_become() -> None:
    assert width({**DYNAMIC, MOST: "25"}) == 100
    assert width({**DYNAMIC, MOST: "25", "spark.task.cpus": "2"}) == 50
    assert width({**DYNAMIC, MOST: "25", "spark.task.cpus": "8"}) == 25
    assert width({"spark.dynamicAllocation.enabled": "TRUE", MOST: "25"}) == 25
    # As many as are there, where that is more; a bound, where the limit is none or far away.
    assert width({**DYNAMIC, MOST: "5"}, registered=32) == 32
    assert width({**DYNAMIC, MOST: "100000"}) == 1024
    assert width(DYNAMIC) == width({**DYNAMIC, MOST: str(2**31 - 1)}) == 64
    assert width(DYNAMIC, registered=200) == 200


def test_what_does_not_grow_has_what_is_registered() -> None:
    assert width({MOST: "25", "spark.executor.cores": "4"}) == 2
    assert width({**DYNAMIC, MOST: "25", "spark.dynamicAllocation.enabled": "false"}) == 2
    for master in ("local", "local[*]", "local[2]"):
        assert width({**DYNAMIC, MOST: "25", "spark.master": master}) == 2
    assert width({**DYNAMIC, MOST: "25", "spark.master": "local-cluster[2,2,1024]"}) == 100
    # The user has said how many.
    assert width({**DYNAMIC, MOST: "25", "spark.default.parallelism": "8"}, registered=8) == 8


@pytest.mark.spark
def test_a_session_tells_its_settings(spark: SparkSession) -> None:
    assert task_count(spark) == 2
    spark.conf.set(TASKS_SETTING, "5")
    try:
        assert task_count(spark) == 5
    finally:
        spark.conf.unset(TASKS_SETTING)
