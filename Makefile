# make demo   sets up what is missing, then runs the main job on real input
# make test   sets up what is missing, then runs the tests; make test-spark, test-jvm, test-slow: the others
# make setup  only the set-up

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
SHIQ := $(BIN)/shiq
SEEDS ?= 0:20000

.PHONY: docs notebooks dist demo demo-consistency demo-building demo-discovery test setup lint test-spark test-jvm test-evaluation test-slow test-differential test-graphframes test-lake test-scale test-door test-examples peers java bench bench-scale clean

setup: $(VENV)/.installed

# A checkout without symbolic links (core.symlinks=false, some archives) has a line of text in place of each
LINKS := $(foreach name,abox_ops jobs simplify streams,$(if $(wildcard shiq/$(name)/.),,$(name)))

$(VENV)/.installed: setup.cfg pyproject.toml constraints.txt
	@for name in $(LINKS); do ln -sfn ../$$name shiq/$$name; done
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "shiq needs Python 3.10 or newer; name one with PYTHON=..."; exit 1; }
	@command -v java >/dev/null || echo "note: no java found; HermiT needs Java 11 or later, Spark a JDK 17, the own reasoner neither"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade pip
	PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,spark]'
	@touch $@

demo: setup
	@rm -rf demo && mkdir demo
	@echo "== LUBM with one university, disjoint classes; a clean 5 % batch, and one with planted contradictions"
	$(SHIQ) generate lubm --universities 1 --seed 1 --faults 0 --out demo/clean
	$(SHIQ) generate lubm --universities 1 --seed 1 --faults 12 --out demo/faulty
	@echo; echo "== index and certify the base"
	$(SHIQ) index --tbox demo/clean/tbox.owl --store demo/kg demo/clean/abox.nt.gz
	@echo; echo "== tonight's batch"
	$(SHIQ) check --store demo/kg --insert demo/clean/insert.nt
	@echo; echo "== a batch with 12 planted contradictions: exit code 1, the culprits named"
	$(SHIQ) check --store demo/kg --insert demo/faulty/insert.nt --report demo/report/; test $$? -eq 1
	@echo; echo "Done. Open demo/report/report.html, or read demo/report/verdict.json; demo/faulty/culprits.nt says what was planted."

# Somebody becomes inconsistent while a stream goes on, and is consistent again
demo-consistency: setup
	@mkdir -p demo
	@printf '%s\n' 'Prefix(:=<urn:t#>)' 'Ontology(<urn:t>' 'SubClassOf(:Student :Person)' 'DisjointClasses(:Person :Publication)' ')' > demo/bob.ofn
	@for e in '1 Student' '4 Publication' '5 Student' '12 Student'; do set -- $$e; printf '{"t": %s, "triples": ["<urn:t#bob> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:t#%s> ."]}\n' $$1 $$2; done > demo/bob.jsonl
	@echo "== how the ontology is watched"
	$(SHIQ) stream plan --tbox demo/bob.ofn
	@echo; echo "== Bob is a student at 1 and 5, a publication at 4; windows hold three points. A conflict opens at 5 and closes after 6"
	$(SHIQ) stream consistency --tbox demo/bob.ofn --source demo/bob.jsonl --window 2 --out demo/rows.jsonl --verdicts demo/verdicts.jsonl; test $$? -eq 1
	@cat demo/rows.jsonl demo/verdicts.jsonl

# A gateway sends raw readings of twenty rooms; each is enriched, rooms alert, and one changes its function meanwhile
demo-building: setup
	@mkdir -p demo
	$(BIN)/python -m tests.tools.building_gateway demo/building

# What jams a small city: five streams, rules learnt from them
demo-discovery: setup
	@mkdir -p demo
	$(SHIQ) generate dublin --roads 40 --snapshots 160 --seed 1 --out demo/dublin
	$(SHIQ) stream discover --tbox demo/dublin/tbox.ofn --static demo/dublin/static.nt.gz --source demo/dublin/events.jsonl.gz --source demo/dublin/incidents.jsonl.gz --source demo/dublin/weather.jsonl.gz --source demo/dublin/buses.jsonl.gz --window 60 --slide 20 --rules demo/dublin/planted.json --out demo/discovery.jsonl --report demo/discovery/
	@echo; echo "Done. Read demo/discovery/rules.md; demo/dublin/planted.json says what was planted."

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tests.tools.vocabulary
	$(BIN)/codespell
	$(BIN)/python -m pytest -m "lint and not slow" -n 2 --dist loadfile tests/test_*.py

test: setup
	$(BIN)/python -m pytest -m "not slow and not lint and not evaluation and (contract or not spark and not jvm)" -n 2 --dist loadfile --no-loadscope-reorder

# The sdist and the wheel, into build/dist: the same commit gives the same bytes
dist: setup
	$(BIN)/pip install --quiet --disable-pip-version-check build twine
	rm -rf build/dist && $(BIN)/python -m tests.tools.dist build/dist

# The site, into build/site; a warning is an error
docs: setup
	PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# The notebooks of the docs, executed anew in place
notebooks: setup
	PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False docs/notebooks/*.ipynb

# What runs on Spark (one session), and what asks HermiT: `make test` has their contracts alone
test-spark: setup
	$(BIN)/python -m pytest -m "spark and not slow" -n0

test-jvm: setup
	$(BIN)/python -m pytest -m "jvm and not slow" -n 2 --dist loadfile --no-loadscope-reorder

# Benchmarks, their generators, and the pages of the papers
test-evaluation: setup
	$(BIN)/python -m pytest -m "evaluation and not slow and not spark" -n 2 --dist loadfile tests

# All long tests, or those that are named: make test-slow SLOW="tests/jobs/test_store.py tests/shiq/test_hermit.py"
SLOW ?=
test-slow: setup
	$(BIN)/python -m pytest -m slow $(SLOW)

# Random SHIQ(D) ontologies against HermiT from scratch: make test-differential SEEDS=0:20000
test-differential: setup
	$(BIN)/python -m tests.tools.differential --seeds $(SEEDS)

# The tests of the engine graphframes by GraphFrames itself (the others are in `make test`): make test-graphframes JAR=…/graphframes-spark4_2.13-….jar
JAR ?=
test-graphframes: setup
	@test -f "$(JAR)" || { echo "name GraphFrames' JVM core: make test-graphframes JAR=PATH (public Maven: io.graphframes:graphframes-spark4_2.13)"; exit 1; }
	SHIQ_GRAPHFRAMES_JAR="$(abspath $(JAR))" $(BIN)/python -m pytest -m graphframes

# Delta and Iceberg by Spark's own readers: fetches their jars where they are not (58 MB), and runs the tests that need them
LAKE ?= $(HOME)/.cache/shiq/lake-jars
test-lake: setup
	SHIQ_LAKE_JARS="$(LAKE)" $(BIN)/python -m tests.tools.lake_jars
	SHIQ_LAKE_JARS="$(LAKE)" $(BIN)/python -m pytest -m lake

# Object stores, killed workers, writers at once, ranges, N by ranges, and LUBM-100: half an hour, 5 GB of disk
test-scale: setup
	$(BIN)/python -m pytest -m scale -n0

# The first run on ontologies that others publish (SHIQ_DATA/lov), certified without options and beside HermiT: half an hour
test-door: setup
	SHIQ_DOOR=1 $(BIN)/python -m pytest -n0 tests/shiq/test_door.py

# All examples; those for Airflow and Dagster in environments of their own below build/ (450 MB)
test-examples: setup
	$(BIN)/python -m pytest -n0 tests/test_examples.py
	@for name in airflow dagster; do \
	  $(PYTHON) -m venv build/$$name && build/$$name/bin/pip install --quiet --disable-pip-version-check --requirement examples/$$name/requirements.txt . || exit 1; done
	PATH="$(CURDIR)/build/airflow/bin:$$PATH" bash examples/airflow/try.sh
	PATH="$(CURDIR)/build/dagster/bin:$$PATH" python examples/dagster/try.py

# Other reasoners for `shiq evaluate --peers`, and itemset miners and OWL RL engines, into a directory of the user's. HermiT is LGPL; Pellet and Openllet are AGPL-3.0 and
# come only with: make peers PEERS=--accept-agpl
PEERS ?=
peers: setup
	$(BIN)/python -m shiq.jobs.evaluation.peers.install $(PEERS)

# The class files of the Java drivers, after a change of their sources; needs a JDK 17
java: setup
	$(BIN)/python -m tests.tools.java_classes

# The targets' figures, beside the peers that are installed, kept in docs/benchmarks: make bench ROWS=cold,single REPEATS=5
ROWS ?=
REPEATS ?= 3
BENCH ?=
bench: setup
	$(BIN)/python -m tests.tools.bench.run --rows "$(ROWS)" --repeats $(REPEATS) $(BENCH)

# LUBM-100 beside LUBM-10, on Spark and local: an hour of two cores, 5 GB of disk
bench-scale: setup
	$(BIN)/python -m tests.tools.bench.run --rows lubm-100 --repeats 1 --limit 3600 $(BENCH)

clean:
	rm -rf demo build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
