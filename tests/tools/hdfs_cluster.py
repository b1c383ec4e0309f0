"""Hadoop's file system of one node for tests: ``python -m tests.tools.hdfs_cluster`` fetches its
jar (40 MB, from a Maven repository); all else that it needs comes with pyspark.

The jar lies in the folder that $SHIQ_HDFS_CLUSTER names, else beside the installed peers.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from shiq.errors import OperationalError
from shiq.jobs.evaluation.peers.install import read_jar_list
from shiq.reasoner.external import external_reasoners_home
from tests.tools.jars import fetched

SETTING = "SHIQ_HDFS_CLUSTER"
_HERE = Path(__file__)
_JARS = read_jar_list(_HERE.with_suffix(".txt"), "hdfs")
#: The jars of pyspark that it takes.
_OF_SPARK = ("hadoop-client-", "slf4j-api-", "log4j-", "jcl-over-slf4j-")


def jars() -> Path:
    """The folder with the jar."""
    return Path(os.environ.get(SETTING) or external_reasoners_home() / "hdfs-cluster")


def _spark_jars() -> Path:
    spec = find_spec("pyspark")
    return (
        Path(spec.origin).parent / "jars" if spec is not None and spec.origin else Path("pyspark")
    )


def absent() -> str:
    """Why there can be no HDFS here; "" where there can."""
    if shutil.which("java") is None:
        return "there is no java"
    missing = [jar.name for jar in _JARS if not (jars() / jar.name).is_file()]
    if missing:
        return f"{jars()} lacks {missing[0]}: python -m tests.tools.hdfs_cluster fetches it"
    runtime = f"hadoop-client-runtime-{_JARS[0].version}.jar"
    return (
        ""
        if (_spark_jars() / runtime).is_file()
        else f"pyspark's jars lack {runtime}, which the cluster is made of"
    )


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Runs HDFS that keeps its data in ``folder``; gives its address. Raises: OperationalError
    where it does not start.
    """
    of_spark = [
        str(jar) for name in _OF_SPARK for jar in sorted(_spark_jars().glob(f"{name}*.jar"))
    ]
    path = os.pathsep.join([f"{jars()}/*", *of_spark])
    command = [
        "java",
        "-Xmx512m",
        "-cp",
        path,
        str(_HERE.with_name("MiniHdfs.java")),
        str(folder / "data"),
    ]
    with (
        open(folder / "log", "wb") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            assert process.stdout
            port = next(
                (line.split()[1] for line in process.stdout if line.startswith("port ")), None
            )
            if port is None:
                told = (folder / "log").read_text(errors="replace")[-500:]
                raise OperationalError(f"HDFS does not start: {told}", "Look at its log.")
            yield f"hdfs://127.0.0.1:{port}"
        finally:
            process.kill()


if __name__ == "__main__":
    sys.exit(fetched(_JARS, jars(), "Hadoop's file system"))
