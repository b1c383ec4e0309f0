#!/usr/bin/env bash
# A change of an ontology that looks harmless, asked before it is merged. Needs shiq alone; a second or two.
set -eu
cd "$(dirname "$0")"
ends() { code=$1; shift; echo "\$ $*"; status=0; "$@" || status=$?; test "$status" -eq "$code"; echo; }
rm -rf out && mkdir out

# Each version by itself: nothing is wrong with either
ends 0 shiq certify -q before.ttl
ends 0 shiq certify -q after.ttl
# With the data that it is used on
ends 0 shiq certify -q before.ttl orders.ttl
ends 1 shiq certify -q after.ttl orders.ttl --report out/report.sarif --report out/report.md
