#!/usr/bin/env bash
# From two tables to a conflict with its row. Needs shiq[yarrrml]; a second or two.
set -eu
cd "$(dirname "$0")"
ends() { code=$1; shift; echo "\$ $*"; status=0; "$@" || status=$?; test "$status" -eq "$code"; echo; }
rm -rf out && mkdir out

ends 0 shiq draft-mapping machines.csv sensors.csv --tbox plant.ttl --out out/mapping.yml
ends 0 shiq index -q --tbox plant.ttl --store out/plant --mapping out/mapping.yml machines.csv sensors.csv
ends 1 shiq check -q --store out/plant --mapping out/mapping.yml --insert tonight.csv
ends 5 shiq gate -q --store out/plant --mapping out/mapping.yml --insert tonight.csv --mode split --unit row --quarantine out/bad.nq --commit
ends 0 shiq history out/plant --json out/history.json
