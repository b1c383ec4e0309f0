"""What a miner knows, on disk: its snapshots as N-Triples, and what it carries; no pickle. What
is entailed is worked out again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shiq import model as owl
from shiq.errors import OperationalError
from shiq.files import replace_file, report_write_errors
from shiq.functional import ontology_text
from shiq.streams.discovery.atomsets import Tree
from shiq.streams.discovery.counting import MinedRule
from shiq.streams.discovery.inkd import CarriedRules
from shiq.streams.discovery.mining import MinedRules
from shiq.streams.discovery.ontology import (
    AssertionIntake,
    Ontology,
    expression_of,
    parse_whole,
    texts_of,
)
from shiq.streams.discovery.report import RuleFinding
from shiq.streams.discovery.settings import MinerSettings, TrackedRule
from shiq.streams.discovery.windows import Windows
from shiq.streams.front.checkpoint import packed, unpacked

if TYPE_CHECKING:
    from shiq.streams.discovery.miner import RuleMiner

_NAME = "miner.npz"


def stored(windows: Windows) -> tuple[dict[str, Any], dict[str, Any]]:
    """What windows know, as JSON and columns of numbers."""
    told = windows.snapshots.told
    parts = [windows.snapshots.text(index, texts_of) for index in told]
    columns = {
        "indices": np.array(list(told), np.int64),
        "lengths": np.array([len(part) for part in parts], np.int64),
        "texts": np.frombuffer(b"".join(parts), np.uint8),
    }
    carried = {str(end): _carried_json(carried) for end, carried in windows.carried.items()}
    return {"first": windows.first, "newest": windows.newest, "carried": carried}, columns


def restored(
    windows: Windows,
    intake: AssertionIntake,
    document: Mapping[str, Any],
    columns: Mapping[str, Any],
) -> None:
    """Lets windows know what `stored` gave."""
    whole, at = columns["texts"].tobytes(), 0
    for index, length in zip(columns["indices"].tolist(), columns["lengths"].tolist()):
        text = zlib.decompress(whole[at : at + length]).decode("utf-8", "surrogatepass")
        at += length
        windows.put(index, intake.assertions(text.split("\n") if text else [], _damaged))
    windows.first, windows.newest = document["first"], document["newest"]
    windows.carried = {int(end): _carried_of(found) for end, found in document["carried"].items()}


def _damaged(kind: str, reason: str, text: str) -> None:
    raise OperationalError(
        f"a saved assertion cannot be read: {text} ({reason})",
        "Remove what was saved and begin anew.",
    )


def save(miner: RuleMiner, directory: str | PathLike[str]) -> None:
    """See `RuleMiner.save`."""
    folder, ontology, settings = Path(directory), miner.ontology, miner.settings
    document, columns = stored(miner.windows)
    rules = [{"body": rule.body, "head": rule.head} for rule in settings.rules]
    more = {
        "ontology": ontology_text(ontology.tbox.axioms, ontology.static),
        "signature": {
            name: sorted(getattr(ontology.signature, name))
            for name in owl.Signature.__dataclass_fields__
        },
        "classes": list(ontology.classes),
        "settings": {**settings.to_dict(), "rules": rules},
        "step": miner.step,
        "allow": list(miner.allow),
        "fingerprint": ontology.fingerprint,
    }
    with report_write_errors(folder, "Make room there, or name another directory."):
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / _NAME, packed({**document, **more}, columns))


def load(directory: str | PathLike[str]) -> RuleMiner:
    """See `RuleMiner.load`."""
    from shiq.streams.discovery.miner import RuleMiner

    file = Path(directory) / _NAME
    try:
        document, columns = unpacked(file.read_bytes())
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        raise OperationalError(
            f"{file}: no saved miner ({error})", "Name the directory that a miner was saved to."
        ) from error
    parsed, static = parse_whole(document["ontology"], str(file))
    signature = owl.Signature(
        **{name: frozenset(iris) for name, iris in document["signature"].items()}
    )
    tbox = owl.TBox(parsed.axioms, parsed.signature | signature)
    classes = {text: expression_of(text, str(file)) for text in document["classes"]}
    ontology = Ontology(tbox, static, classes)
    given = document["settings"]
    rules = tuple(
        TrackedRule(*(tuple(map(tuple, rule[part])) for part in ("body", "head")))
        for rule in given["rules"]
    )
    found = object.__new__(RuleMiner)
    found.ontology, found.step, found.allow = ontology, document["step"], tuple(document["allow"])
    sets = {"eps": frozenset(given["eps"]), "head": tuple(given.get("head", ())), "rules": rules}
    found.settings = MinerSettings(**{**given, **sets})
    found.windows, found.leftovers = Windows(ontology, found.settings), []
    restored(found.windows, AssertionIntake(ontology.signature), document, columns)
    return found


def _carried_json(carried: CarriedRules) -> Any:
    rules = [
        [
            tree,
            head,
            *carried.rules[tree, head],
            *(bits.tobytes().hex() for bits in carried.bits[tree, head]),
        ]
        for tree, head in carried.rules
    ]
    reported = carried.reported or MinedRules()
    told = [
        [r.body, r.head, r.support, r.body_support, r.binding_support, r.binding_body]
        for r in reported.rules
    ]
    shown = [[found.lift, found.refuted, found.instances] for found in carried.shown]
    return {
        "rules": rules,
        "reported": told,
        "shown": shown,
        "by_tbox": reported.by_tbox,
        "stopped": reported.stopped,
    }


def _carried_of(found: Mapping[str, Any]) -> CarriedRules:
    carried = CarriedRules()
    for tree, head, n, d, *bits in found["rules"]:
        key = _tree(tree), head
        carried.rules[key] = n, d
        carried.bits[key] = tuple(np.frombuffer(bytes.fromhex(text), np.uint64) for text in bits)  # type: ignore[assignment]
    told = tuple(MinedRule(_tree(tree), *rest) for tree, *rest in found["reported"])
    carried.reported = MinedRules(told, found["by_tbox"], found["stopped"])
    carried.shown = [
        RuleFinding(rule, lift, refuted, [(index, binding) for index, binding in instances])
        for rule, (lift, refuted, instances) in zip(told, found["shown"])
    ]
    return carried


def _tree(found: Any) -> Tree:
    classes, branches = found
    return Tree(
        tuple(classes), tuple((role, inverse, _tree(below)) for role, inverse, below in branches)
    )
