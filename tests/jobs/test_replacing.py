"""`index` and a store that is there: it stays, or is replaced in one step by a base that is no
worse; in folders, S3 and HDFS.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hadoop import hdfs, hdfs_address  # noqa: F401
from object_store import bucket, s3_server  # noqa: F401

from shiq.answers.verdict import Verdict
from shiq.api import index
from shiq.api import open_store as open_session
from shiq.errors import StoreError, UsageError
from shiq.jobs.store import open_store, write
from shiq.jobs.store.replacing import StandingStore, claim_place, find_store_at
from shiq.model.abox import individuals_of
from shiq.remote.place import StoreLocation
from tests.command_line import Called, shiq

TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TOM, KIT = f"<urn:t#tom> {TYPE} <urn:t#Cat> .\n", f"<urn:t#kit> {TYPE} <urn:t#Cat> .\n"
FILES = {
    "t.ofn": "Ontology(<urn:o> Declaration(Class(<urn:t#Cat>)) Declaration(Class(<urn:t#Dog>)) "
    "DisjointClasses(<urn:t#Cat> <urn:t#Dog>))",
    "tom.nt": TOM,
    "kit.nt": KIT,
    "bad.nt": TOM + f"<urn:t#tom> {TYPE} <urn:t#Dog> .\n",
    "open.nt": TOM + "<urn:t#broken> .\n",
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(
    params=[
        "folder",
        pytest.param("bucket", marks=pytest.mark.scale),
        pytest.param("hdfs", marks=pytest.mark.scale),
    ]
)
def place(request: pytest.FixtureRequest, files: Path) -> StoreLocation:
    return files / "kg" if request.param == "folder" else request.getfixturevalue(request.param)


def called(place: StoreLocation, *arguments: str) -> Called:
    return shiq("index", "-t", "t.ofn", "-s", place, *arguments, "-q", "--reasoner", "own")


def held(place: StoreLocation) -> tuple[str, int, str]:
    """What a store holds: its assertions, its snapshot and its verdict."""
    with open_store(place) as store:
        individuals = {
            individual for assertion in store.export() for individual in individuals_of(assertion)
        }
        assert store.certificate is not None
        return (
            "".join(sorted(individuals)),
            store.manifest.snapshot,
            store.certificate.verdict.value,
        )


def test_a_store_that_is_there_stays_unless_it_is_to_be_replaced(place: StoreLocation) -> None:
    assert called(place, "tom.nt").returncode == 0
    before = held(place)
    for file in ("kit.nt", "bad.nt", "missing.nt"):
        done = called(place, file)
        assert (done.returncode, done.stdout) == (2, "")
        assert (
            f"{place}: there is a store already (snapshot 1, consistent)" in done.stderr
            and "--replace" in done.stderr
        )
        assert held(place) == before
    assert called(place, "--replace", "kit.nt").returncode == 0
    assert held(place) == ("urn:t#kit", 2, "consistent")


def test_a_worse_base_takes_its_place_only_always(place: StoreLocation) -> None:
    assert called(place, "tom.nt").returncode == 0
    before, opened = held(place), open_store(place)
    for code, file, text in ((1, "bad.nt", "inconsistent"), (3, "open.nt", "undetermined")):
        done = called(place, file, "--replace")
        assert done.returncode == code
        assert (
            f"{place} stays as it was (snapshot 1, consistent): the new base is {text}"
            in done.stdout
        )
        assert "--replace=always" in done.stdout
        assert held(place) == before
    assert "not interpreted: 1 malformed" in done.stdout
    done = called(place, "--replace=always", "open.nt")
    assert (done.returncode, "stays as it was" in done.stdout) == (3, False)
    assert held(place) == ("urn:t#tom", 2, "undetermined")
    assert called(place, "--replace", "bad.nt").returncode == 1
    assert held(place)[1:] == (2, "undetermined")
    assert called(place, "open.nt", "kit.nt", "--replace").returncode == 3
    assert held(place) == ("urn:t#kiturn:t#tom", 3, "undetermined")
    assert called(place, "bad.nt", "--replace=always").returncode == 1
    assert held(place)[1:] == (4, "inconsistent")
    assert called(place, "--replace", "open.nt").returncode == 3
    # What was opened before all this is still what was there then.
    with opened:
        assert [*map(individuals_of, opened.export())] == [("urn:t#tom",)]


def test_the_old_store_is_asked_until_the_new_one_is_complete(
    place: StoreLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert called(place, "tom.nt").returncode == 0
    met = []

    def look(*arguments: Any) -> None:
        met.append((session.check("bad.nt", reasoner="own").verdict, held(place)))
        put_in_place(*arguments)

    put_in_place = write.publish_and_expire
    monkeypatch.setattr(write, "publish_and_expire", look)
    with open_session(str(place)) as session:
        assert called(place, "--replace", "kit.nt").returncode == 0
        assert met == [(Verdict.INCONSISTENT, ("urn:t#tom", 1, "consistent"))]
        (Path.cwd() / "dog.nt").write_text(KIT.replace("Cat", "Dog"))
        assert session.check("dog.nt", reasoner="own").verdict is Verdict.INCONSISTENT
        assert held(place)[1] == 2


def test_a_first_store_is_made_whatever_the_verdict_is(place: StoreLocation) -> None:
    assert called(place, "bad.nt").returncode == 1
    assert held(place)[1:] == (1, "inconsistent")


@pytest.mark.parametrize(
    "given", [("--replace", "tom.nt"), ("tom.nt", "--replace"), ("--replace=always", "tom.nt")]
)
def test_there_need_be_nothing_to_replace(files: Path, given: tuple[str, ...]) -> None:
    assert called(files / "kg", *given).returncode == 0
    assert held(files / "kg") == ("urn:t#tom", 1, "consistent")


def test_the_value_of_replace_stands_behind_an_equals_sign(files: Path) -> None:
    done = called(files / "kg", "--replace=allways", "tom.nt")
    assert (done.returncode, "Did you mean 'always'" in done.stderr) == (2, True)
    (files / "--replace").write_text(TOM)
    for code in (0, 2):
        assert (
            shiq(
                "index", "-t", "t.ofn", "-s", "kg", "-q", "--reasoner", "own", "--", "--replace"
            ).returncode
            == code
        )
    assert held(files / "kg")[0] == "urn:t#tom"


@pytest.mark.parametrize("text", ["", "{}", '{"format": "shiq-store", "version": 99}'])
def test_a_store_that_cannot_be_read_is_one(files: Path, text: str) -> None:
    assert called(files / "kg", "tom.nt").returncode == 0
    (files / "kg" / "store.json").write_text(text)
    done = called(files / "kg", "kit.nt")
    assert (done.returncode, "a store that cannot be read" in done.stderr) == (2, True)
    assert called(files / "kg", "--replace", "bad.nt").returncode == 1
    assert (files / "kg" / "store.json").read_text() == text
    assert called(files / "kg", "--replace", "kit.nt").returncode == 0
    assert held(files / "kg")[0] == "urn:t#kit"


def test_reports_of_an_earlier_run_stay_where_nothing_is_done(files: Path) -> None:
    assert called(files / "kg", "tom.nt", "--report", "verdict.json").returncode == 0
    before = (files / "verdict.json").read_bytes()
    assert called(files / "kg", "kit.nt", "--report", "verdict.json").returncode == 2
    assert (files / "verdict.json").read_bytes() == before


def test_what_fails_on_the_way_leaves_the_old_store(
    place: StoreLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert called(place, "tom.nt").returncode == 0
    before = held(place)
    with monkeypatch.context() as broken:

        def fail(*_: object) -> None:
            raise OSError("the disk is gone")

        broken.setattr("shiq.jobs.store.write.write_manifest", fail)
        broken.setattr("shiq.jobs.store.write.publish_and_expire", fail)
        assert called(place, "--replace", "kit.nt").returncode == 4
        assert held(place) == before
    assert called(place, "--replace", "kit.nt").returncode == 0
    assert held(place)[0] == "urn:t#kit"


def test_what_was_put_there_meanwhile_stays(place: StoreLocation, files: Path) -> None:
    """Two builds, neither of which saw the other's store before it began."""
    earlier = claim_place(place, False)
    assert called(place, "tom.nt").returncode == 0
    with pytest.raises(StoreError, match="another store was put there meanwhile"):
        earlier.confirm()
    claim_place(place, True).confirm()
    standing = find_store_at(place)
    assert standing is not None and (standing.snapshot, standing.verdict) == (1, Verdict.CONSISTENT)
    assert called(place, "--replace", "kit.nt").returncode == 0
    assert find_store_at(place) not in (standing, StandingStore(), None)


@pytest.mark.scale
@pytest.mark.parametrize("kind", ["bucket", "hdfs"])
def test_no_store_lies_in_another(kind: str, files: Path, request: pytest.FixtureRequest) -> None:
    outer: StoreLocation = request.getfixturevalue(kind)
    assert called(outer, "tom.nt").returncode == 0
    done = shiq("index", "-t", "t.ofn", "-s", f"{outer}/tables/inner", "kit.nt", "-q")
    assert (done.returncode, f"lies in the store {outer}" in done.stderr) == (2, True)


def test_the_call_refuses_to_replace_unless_it_is_told_to(files: Path) -> None:
    index("t.ofn", "tom.nt", "kg", reasoner="own")
    with pytest.raises(UsageError, match="there is a store already") as caught:
        index("t.ofn", "kit.nt", "kg")
    assert "replace_store=True" in caught.value.remedy
    assert held(files / "kg") == ("urn:t#tom", 1, "consistent")
    refused = index("t.ofn", "bad.nt", "kg", replace_store=True, reasoner="own")
    assert (
        refused.verdict is Verdict.INCONSISTENT and "stays as it was" in refused.evidence.notes[-1]
    )
    assert held(files / "kg") == ("urn:t#tom", 1, "consistent")
    index("t.ofn", "bad.nt", "kg", replace_store="always", reasoner="own")
    assert held(files / "kg")[1:] == (2, "inconsistent")


@pytest.mark.slow
@pytest.mark.spark
def test_spark_replaces_as_well(files: Path) -> None:
    kg = files / "kg"
    assert called(kg, "tom.nt", "--engine", "spark").returncode == 0
    before, content = held(kg), {path for path in kg.rglob("*") if path.name != "lock"}
    assert called(kg, "kit.nt", "--engine", "spark").returncode == 2
    for code, file in ((1, "bad.nt"), (3, "open.nt")):
        done = called(kg, file, "--engine", "spark", "--replace")
        assert (
            done.returncode,
            f"{kg} stays as it was (snapshot 1, consistent)" in done.stdout,
        ) == (code, True), done
        assert ("1 minimal conflict" in done.stdout) == (file == "bad.nt")
        assert held(kg) == before
        assert {path for path in kg.rglob("*") if path.name != "lock"} == content
    assert called(kg, "kit.nt", "--engine", "spark", "--replace").returncode == 0
    assert held(kg) == ("urn:t#kit", 2, "consistent")
    assert called(kg, "bad.nt", "--engine", "spark", "--replace=always").returncode == 1
    assert held(kg)[1:] == (3, "inconsistent")
