"""Miner of rules from an ontology stream, window after window.

>>> from shiq.model import Class, ClassAssertion, SubClassOf, TBox
>>> from shiq.model.abox import abox_of
>>> jam, slow, late = Class("urn:Jam"), Class("urn:Slow"), Class("urn:Late")
>>> miner = RuleMiner(TBox((SubClassOf(jam, slow), SubClassOf(late, slow))), window=2, max_atoms=1)
>>> both = abox_of([ClassAssertion(jam, "urn:a"), ClassAssertion(late, "urn:a")])
>>> miner.partial_fit(0, [both]) is None
True
>>> for rule in miner.partial_fit(1, [both]).to_dict()["rules"]:
...     print(rule["body"], rule["head"], rule["support"], rule["body_support"])
[['<urn:Jam>', '?x0']] [['<urn:Late>', '?x0']] 2 2
[['<urn:Late>', '?x0']] [['<urn:Jam>', '?x0']] 2 2
[['<urn:Slow>', '?x0']] [['<urn:Jam>', '?x0']] 2 2
[['<urn:Slow>', '?x0']] [['<urn:Late>', '?x0']] 2 2
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from shiq import model as owl
from shiq.answers.verdict import Leftover
from shiq.errors import UsageError
from shiq.rdf import read_assertions
from shiq.streams.discovery.ontology import MinerOntology, open_ontology
from shiq.streams.discovery.report import WindowReport
from shiq.streams.discovery.settings import MinerSettings, refuse_unknown_sources
from shiq.streams.discovery.windows import WindowMiner

if TYPE_CHECKING:
    from shiq.inputs.catalog import Catalogs
    from shiq.streams.discovery.stream import DiscoveryCollector


class RuleMiner:
    """Miner of rules that hold in the last ``window`` snapshots of an ontology stream.

    options: those of `shiq stream discover`.
    """

    def __init__(
        self,
        tbox: Any,
        *,
        window: int,
        static: Any = None,
        vocabulary: Any = None,
        rules: Any = None,
        eps: Collection[int] | str | None = None,
        step: int = 1,
        allow: Collection[str] = (),
        catalog: Catalogs | None = None,
        **options: Any,
    ) -> None:
        ontology = (
            tbox
            if isinstance(tbox, MinerOntology)
            else open_ontology(tbox, static, vocabulary, catalog, allow)
        )
        self.ontology, self.step, self.allow = ontology, step, tuple(allow)
        self.settings = _make_settings(window, rules, eps, ontology, options)
        self.windows = WindowMiner(ontology, self.settings)
        self.leftovers: list[Leftover] = list(ontology.leftovers)

    def run(self, sources: Sequence[Any]) -> Iterator[WindowReport]:
        """Yield the report of each full window over all ``sources`` (as `--source`), first to last."""
        from shiq.streams.front.local import LocalRunner
        from shiq.streams.front.run import open_run
        from shiq.streams.front.sources import open_source

        opened = [
            open_source(str(source))
            for source in ([sources] if isinstance(sources, str | PathLike) else sources)
        ]
        refuse_unknown_sources(self.settings, [source.name for source in opened])
        with open_run(opened, {}) as run:
            found: list[WindowReport] = []
            system = self.system(on_report=found.append, keeps_all_reports=False)
            time, runner = system.record_time_reader(opened), LocalRunner(system)
            for record in run.input.read(False, time):
                if record is not None:
                    runner.process(record)
                    yield from found
                    found.clear()
            runner.finish()
            yield from found
        self.leftovers += system.leftovers()

    def system(self, **more: Any) -> DiscoveryCollector:
        """Make a stream system (`DiscoveryCollector`) that mines the records of a stream."""
        from shiq.streams.discovery.stream import DiscoveryCollector

        return DiscoveryCollector(
            self.windows, self.ontology, step=self.step, allow=self.allow, **more
        )

    def partial_fit(self, index: int, sources: Any, stream: str = "") -> WindowReport | None:
        """Add assertions to snapshot ``index``. Return the report of the window that ends there (of
        the newest window for an older index), or None if no window is due.

        sources: a list, as `check_insertions` takes it; [] gives an empty snapshot.
        stream: origin of the assertions, as named in ``body_sources`` and ``head_sources``.
        Returns: the report of the window that ends with ``index`` if it is the newest; for an older
        index that of the newest window again; None if no window is full and due. Snapshots that
        never came are empty.
        """
        given = list(sources) if isinstance(sources, list | tuple) else [sources]
        assertions: Iterable[owl.Assertion] = ()
        if given:
            ontology = self.ontology
            reading = read_assertions(given, ontology.signature, axioms=ontology.tbox.axioms)
            self.leftovers += reading.leftovers
            assertions = reading.abox
        newest = self.windows.newest_index
        self.windows.add_to_snapshot(index, assertions, stream)
        if newest is not None and index < newest:
            end = self.windows.last_window_end()
        else:
            end = index if self.windows.is_window_end(index) else None
        report = None if end is None else self.windows.report_window(end)
        self.leftovers += [
            found for found in self.windows.knowledge.leftovers() if found not in self.leftovers
        ]
        return report

    def merge(self, other: RuleMiner) -> RuleMiner:
        """Merge two miners with disjoint snapshots, as if one had seen them all."""
        if (
            self.settings != other.settings
            or self.ontology.fingerprint != other.ontology.fingerprint
        ):
            raise UsageError(
                "miners with different settings are not merged",
                "Give both the same ontology and options.",
            )
        if self.settings.method == "inkd":
            raise UsageError(
                "miners of the method inkd cannot be merged: their rules depend on the windows before",
                "Merge miners whose method is exact or scratch.",
            )
        merged = self._empty_copy()
        merged.windows.add_miners(self.windows, other.windows)
        merged.leftovers = [
            *self.leftovers,
            *(x for x in other.leftovers if x not in self.leftovers),
        ]
        return merged

    def save(self, directory: str | PathLike[str]) -> None:
        """Save the miner's state to a directory."""
        from shiq.streams.discovery.stream import save_miner

        save_miner(self, directory)

    @classmethod
    def load(cls, directory: str | PathLike[str]) -> RuleMiner:
        """Load the miner that `save` wrote. Raises: OperationalError."""
        from shiq.streams.discovery.stream import load_miner

        return load_miner(directory)

    def _empty_copy(self) -> RuleMiner:
        """Copy with the same settings and without snapshots."""
        found = object.__new__(RuleMiner)
        found.ontology, found.step, found.allow, found.settings = (
            self.ontology,
            self.step,
            self.allow,
            self.settings,
        )
        found.windows, found.leftovers = (
            WindowMiner(self.ontology, self.settings),
            list(self.ontology.leftovers),
        )
        return found


def _make_settings(
    window: int, rules: Any, eps: Any, ontology: MinerOntology, options: dict[str, Any]
) -> MinerSettings:
    """Validate the options of a miner."""
    from shiq.streams.discovery.settings import parse_eps, parse_tracked_rules, resolve_heads

    if isinstance(eps, str):
        eps = parse_eps(eps)
    for name in ("head", "body_sources", "head_sources"):
        given = options.get(name, ())
        given = (given,) if isinstance(given, str | PathLike) else given
        options[name] = tuple(map(str, given))
    heads = resolve_heads(options.pop("head"), ontology.spellings)
    tracked = (
        parse_tracked_rules(rules, ontology.spellings, ontology.roles) if rules is not None else ()
    )
    try:
        return MinerSettings.from_options(
            window, rules=tracked, eps=frozenset(eps or ()), head=heads, **options
        )
    except TypeError as error:
        raise UsageError(f"RuleMiner: {error}", "See `shiq stream discover --help`.") from None
