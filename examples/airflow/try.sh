#!/usr/bin/env bash
# Runs the DAG once, for one day, without a scheduler: in an environment with Airflow and shiq (`make test-examples` makes one).
set -eu
cd "$(dirname "$0")"
rm -rf out && mkdir -p out/in
export SHIQ_NIGHT="$PWD/out" AIRFLOW_HOME="$PWD/out/airflow" AIRFLOW__CORE__DAGS_FOLDER="$PWD/dags" AIRFLOW__CORE__LOAD_EXAMPLES=False
export AIRFLOW__LOGGING__LOGGING_LEVEL=WARNING

echo '@prefix : <http://example.org/shop#> . :ada a :Person .' >out/data.ttl
shiq index -q --tbox ../ontology-pull-request/after.ttl --store out/kg out/data.ttl >out/index.txt
cp ../ontology-pull-request/orders.ttl out/in/2026-01-02.ttl
airflow db migrate >out/airflow.txt 2>&1
airflow dags test shiq_night 2026-01-02 >>out/airflow.txt 2>&1 || { tail -40 out/airflow.txt; exit 1; }
grep -q "lines were set aside" out/airflow.txt
shiq history out/kg
