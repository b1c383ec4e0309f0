"""Makes the archive of Spark's classes (`jobs.spark.archive`): runs commands of ours in a JVM that writes down what it loaded."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from shiq.errors import OperationalError
from shiq.reasoner.jvm import find_java

#: Seconds for all of it.
_SECONDS = 900.0
_TBOX = """Prefix(:=<urn:t#>)
Ontology(<urn:t>
Declaration(ObjectProperty(:knows))
SubClassOf(:Student :Person)
DisjointClasses(:Person :Publication)
)
"""
_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:t#Student> ."


def make() -> Path:
    """Makes the archive, of what indexes, checks and streams load; where it is. Raises: OperationalError."""
    try:
        from jobs.spark.archive import keep
    except ImportError as error:
        raise OperationalError(f"Spark is not installed ({error})", "pip install 'shiq[spark]'") from error
    find_java()
    with tempfile.TemporaryDirectory(prefix="shiq-classes-") as folder:
        made = Path(folder, "classes.jsa")
        path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
        command = [sys.executable, "-m", "jobs.commands.training", folder, str(made)]
        environment = {**os.environ, "PYTHONPATH": path}
        try:
            run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise OperationalError(
                f"Spark did not end within {_SECONDS:.0f} s", "`shiq doctor --spark` says whether it starts."
            ) from error
        if run.returncode or not made.is_file():
            last = next(iter((run.stderr + run.stdout).strip().splitlines()[-1:]), "no file came of it")
            raise OperationalError(
                f"Java made no archive of Spark's classes: {last[:300]}",
                "It makes none with a folder of files on the class path: unset SPARK_CONF_DIR and HADOOP_CONF_DIR meanwhile.",
            )
        try:
            return keep(made)
        except OSError as error:
            raise OperationalError(
                f"{error.filename}: cannot be written ({error.strerror})", "Name another folder in XDG_CACHE_HOME."
            ) from error


def _train(folder: Path, made: Path) -> None:
    """Runs commands in one JVM, which writes the archive ``made`` when it ends."""
    from pyspark import SparkContext

    from jobs.commands.check import check
    from jobs.commands.index import index
    from jobs.commands.stream import stream
    from jobs.spark.session import spark_session, stop

    tbox, base, batch, events = (str(folder / name) for name in ("t.ofn", "base.nt", "batch.nt", "events.jsonl"))
    Path(tbox).write_text(_TBOX, encoding="utf-8")
    for name in (base, batch):
        lines = [
            f"<urn:t#{Path(name).stem}{n}> {_TYPE}\n<urn:t#{Path(name).stem}{n}> <urn:t#knows> <urn:t#base0> .\n"
            for n in range(9)
        ]
        Path(name).write_text("".join(lines), encoding="utf-8")
    Path(events).write_text(f'{{"t": 1, "triples": ["<urn:t#a> {_TYPE}"]}}\n', encoding="utf-8")
    java = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f'"-XX:ArchiveClassesAtExit={made}"']
    session, _ = spark_session(master="local[2]", settings={"spark.driver.extraJavaOptions": " ".join(java)})
    jvm = SparkContext._gateway.proc  # type: ignore[union-attr]
    store, spark = str(folder / "kg"), ["--engine", "spark", "-q"]
    index.main(["--tbox", tbox, "--store", store, base, *spark], standalone_mode=False)
    check.main(["--store", store, "--insert", batch, *spark], standalone_mode=False)
    watched = ["--tbox", tbox, "--source", events, "--window", "2", "--out", str(folder / "rows.jsonl")]
    stream.main(["consistency", *watched, *spark], standalone_mode=False)
    stop(session)
    jvm.wait()


if __name__ == "__main__":
    _train(Path(sys.argv[1]), Path(sys.argv[2]))
