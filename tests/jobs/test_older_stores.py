"""Stores of older formats: no command reads them but those that make one of the present format,
or print what is in them.
"""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest
from command_line import shiq

from shiq.api import index
from shiq.errors import StoreError, UsageError
from shiq.jobs.store import open_store
from shiq.jobs.store.manifest import OLDER, VERSION, read_manifest
from shiq.jobs.store.upkeep import commit
from shiq.model import Class, ClassAssertion
from shiq.model.abox import abox_of

STORES = Path(__file__).parents[2] / "data" / "stores"


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The store of the format that a test is given."""
    with tarfile.open(STORES / f"format-{request.param}.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / f"format-{request.param}"


def expected(version: int) -> set[str]:
    """What the commit left of the fifteen assertions; in format 2 there was none."""
    of, cat, owns = (
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>",
        "<urn:t#Cat>",
        "<urn:t#owns>",
    )
    first = version == 2
    return {
        *(f"<urn:t#c{i}> {of} {cat} ." for i in (*range(6), *([] if first else [9]))),
        *(f"<urn:t#p{i}> {owns} <urn:t#c{i}> ." for i in ((0, 1, 2, 3) if first else (0, 2, 3, 9))),
        *(f'<urn:t#c{i}> <urn:t#name> "cat {i}" .' for i in ((0, 1, 2) if first else (0, 2))),
        "<urn:t#p0> <http://www.w3.org/2002/07/owl#sameAs> <urn:t#q0> .",
    }


@pytest.mark.parametrize("folder", OLDER, indirect=True)
def test_an_older_store_is_exported_and_made_one_of_the_present_format(folder: Path) -> None:
    version, new = int(folder.name[-1]), folder.parent / "new"
    assert set(shiq("export", "--store", folder).stdout.splitlines()) == expected(version)
    made = shiq(
        "index",
        "--from-store",
        folder,
        "--store",
        new,
        "-q",
        "--reasoner",
        "own",
        "--allow",
        "malformed",
    )
    assert made.returncode == 0, made
    assert set(shiq("export", "--store", new).stdout.splitlines()) == expected(version)
    with open_store(folder, older=True) as old, open_store(new) as store:
        assert (store.tbox, store.ontologies, store.term_labels) == (
            old.tbox,
            old.ontologies,
            old.term_labels,
        )
        assert (
            store.read_properties == old.read_properties
            and store.manifest.applied_batches == old.manifest.applied_batches
        )
        assert [x.text for x in store.left_out()] == [x.text for x in old.left_out()]
        assert store.left_out_counts == old.left_out_counts and store.quarantine == old.quarantine
        assert {x.kind for x in store.leftovers} == {"malformed"} and store.is_completed
        assert (store.certificate and store.certificate.verdict.value) == "consistent"
    assert read_manifest(folder, older=True) and not list(new.rglob("_delta_log"))


@pytest.mark.parametrize("folder", [2, 6], indirect=True)
def test_every_other_command_says_how(folder: Path) -> None:
    (folder.parent / "new.nt").write_text(
        "<urn:t#c7> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:t#Cat> .\n"
    )
    way = f"shiq index --from-store {folder} --store {folder}.new"
    calls = [
        ("check", "--insert", "new.nt"),
        ("gate", "--insert", "new.nt", "--mode", "reject"),
        ("certify",),
        ("compact",),
        ("status",),
    ]
    for call in calls:
        told = shiq(*call, "--store", folder, cwd=folder.parent)
        assert (told.returncode, way in told.stderr) == (4, True), (call, told)
    command = way.split()[1:]
    assert (
        shiq(
            *command, "-q", "--reasoner", "own", "--allow", "malformed", cwd=folder.parent
        ).returncode
        == 0
    )
    assert open_store(Path(f"{folder}.new")).manifest.snapshot == 1


@pytest.mark.parametrize("folder", [6], indirect=True)
def test_an_older_store_that_is_damaged_is_refused(folder: Path) -> None:
    file = folder / read_manifest(folder, older=True).tables["half_edges"].files[0].path
    file.write_bytes(file.read_bytes()[:-9] + bytes(9))
    assert shiq("export", "--store", folder).returncode == 4
    (folder / "store.json").write_text(
        (folder / "store.json").read_text().replace('"assertions": 14', '"assertions": 15')
    )
    with pytest.raises(StoreError, match="manifest is damaged"):
        open_store(folder, older=True)


@pytest.mark.parametrize("folder", [6], indirect=True)
def test_the_older_store_may_be_replaced_by_its_copy_alone(folder: Path) -> None:
    with pytest.raises(UsageError, match="nothing else"):
        index(str(folder / "t.ofn"), None, folder.parent / "new", from_store=folder)
    told = shiq("index", "--store", folder.parent / "new")
    assert (told.returncode, "--from-store" in told.stderr) == (2, True)
    told = shiq("index", "--from-store", folder, "--store", folder, "--replace")
    assert told.returncode in (2, 4) and "Traceback" not in told.stderr, told
    assert read_manifest(folder, older=True).tables


@pytest.mark.parametrize("folder", [5], indirect=True)
def test_a_copy_takes_what_was_set_aside_and_the_versions_taken(folder: Path) -> None:
    """Of a store of the present format it is the same."""
    first, second = folder.parent / "first", folder.parent / "second"
    index(None, None, first, from_store=folder, reasoner="own", allow=["malformed"], range_size=3)
    with open_store(first) as store:
        from shiq.inputs.reading import QuarantinedAssertion

        aside = QuarantinedAssertion(("<urn:t#x> <urn:t#owns> <urn:t#y> .",), "contradicts")
        new = abox_of([ClassAssertion(Class("urn:t#Cat"), "urn:t#late")])
        commit(
            first, new, abox_of([]), checked=store.identity, asides=[aside], taken={"lake": 7}
        ).close()
    index(None, None, second, from_store=first, reasoner="own", allow=["malformed"])
    with open_store(first) as old, open_store(second) as store:
        assert set(store.export()) == set(old.export()) and store.quarantine == old.quarantine == (
            aside,
        )
        assert store.manifest.applied_batches == {"lake": 7} and store.manifest.range_size == 3
        assert store.manifest.snapshot == 1 and [x.text for x in store.left_out()] == [
            x.text for x in old.left_out()
        ]
    assert VERSION not in OLDER
    shutil.rmtree(second)
