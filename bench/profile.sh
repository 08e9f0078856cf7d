#!/usr/bin/env bash
# Measures the profile that the compiler optimises by, bench/default.pgo: reads, hops, requests, commits and loads. LDBC's data is used where it lies
# beside the repository.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d "${TMPDIR:-/tmp}/hopgate-profile.XXXXXX")
trap 'rm -rf "$work"' EXIT

# profile WORKLOAD BENCHMARKS TIME runs benchmarks under the profiler.
profile() {
  go test -run '^$' -bench "$2" -benchtime "$3" -o "$work/$1.test" -cpuprofile "$work/$1.pprof" "./bench/$1"
}

profile ldbc Reads 1s
profile traversal '^Benchmark(Rows|Predicate|Shortest|Lookup|Distinct|Groups|BesideLoad)$' 0.5s
profile serve . 0.5s
profile bolt . 0.5s
profile commit '^Benchmark(Edge|Vertices|Edges)$' 1s
go tool pprof -proto "$work"/*.pprof >bench/default.pgo
