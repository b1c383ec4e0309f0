#!/usr/bin/env bash
# Four faults that published ontologies have. Needs shiq alone; a second or two.
set -eu
cd "$(dirname "$0")"
ends() { code=$1; shift; echo "\$ $*"; status=0; "$@" || status=$?; test "$status" -eq "$code"; echo; }
rm -rf out && mkdir out

ends 1 shiq certify -q faults.ttl --report out/report.html
