#!/usr/bin/env bash
# Raw readings of a building become alerts, by an ontology. Needs shiq alone; a second or two.
set -eu
cd "$(dirname "$0")"
ends() { code=$1; shift; echo "\$ $*"; status=0; "$@" || status=$?; test "$status" -eq "$code"; echo; }
rm -rf out && mkdir out

ends 0 shiq stream enrich -q --tbox building.ofn --mapping mapping.rml.ttl --stream readings --source readings.jsonl \
  --only http://example.org/building#Alert --only http://example.org/building#AlarmRoom --static-types --out out/alerts.jsonl
ends 0 cat out/alerts.jsonl
