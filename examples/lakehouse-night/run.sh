#!/usr/bin/env bash
# A Delta table is watched: what each night brought and took is a batch. Needs shiq[lake]; a few seconds.
set -eu
cd "$(dirname "$0")"
ends() { code=$1; shift; echo "\$ $*"; status=0; "$@" || status=$?; test "$status" -eq "$code"; echo; }
rm -rf out && mkdir out

# The first load: the store remembers the version of the table that it was built of
ends 0 python lake.py first
ends 0 shiq index -q --tbox fleet.ttl --store out/kg out/lake/fleet
# Tonight's load says that a trailer pulls another one. Nothing is taken
ends 0 python lake.py tonight
ends 1 shiq check -q --store out/kg --changes out/lake/fleet --commit
# Somebody repairs the table; the same command takes all that came since
ends 0 python lake.py repair
ends 0 shiq check -q --store out/kg --changes out/lake/fleet --commit
# A late delivery goes through the gate: rows in, rows out, with their keys
ends 0 python lake.py late
ends 5 shiq gate -q --store out/kg --insert out/late.parquet --mode split --accepted out/good.delta --quarantine out/bad.delta --commit
