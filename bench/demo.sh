#!/usr/bin/env bash
# Shows the main job end to end: makes a network, starts a server on free ports, loads the network, asks a few questions,
# looks inside, and stops the server. All files lie in a directory of its own, which is removed in the end.
set -euo pipefail
cd "$(dirname "$0")/.."

PERSONS=${PERSONS:-10000}
work=$(mktemp -d "${TMPDIR:-/tmp}/hopgate-demo.XXXXXX")
server=

finish() {
  code=$?
  trap - EXIT
  if [[ -n $server ]] && kill -TERM "$server" 2>/dev/null; then
    wait "$server" || code=$?
  fi
  if [[ $code != 0 && -s $work/server.log ]]; then
    echo "the server's log:" >&2
    cat "$work/server.log" >&2
  fi
  rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

title() { printf '\n== %s\n' "$*"; }

# run shows a command, with its program by name, and runs it.
run() {
  printf '$ %s' "$(basename "$1")"
  for a in "${@:2}"; do
    case $a in
      *[!A-Za-z0-9_./:=,-]*) printf " '%s'" "$a" ;;
      *) printf ' %s' "$a" ;;
    esac
  done
  printf '\n'
  "$@"
}

# address reads one of the addresses in the ready file.
address() { sed -E "s/.*\"$1\": ?\"([^\"]+)\".*/\1/" "$work/ready.json"; }

# http_get needs nothing but bash.
http_get() {
  exec 3<>"/dev/tcp/${1%:*}/${1##*:}"
  printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&3
  sed '1,/^\r*$/d' <&3
  exec 3>&-
}

title "A network of $PERSONS people with comments of 1 to 8 KiB"
run bin/graphctl generate social --persons "$PERSONS" --comment-bytes 1KiB..8KiB -d "$work/network"

title "A server on free ports"
echo '$ hopgate serve --data-dir … --http 127.0.0.1:0 --grpc 127.0.0.1:0 --admin 127.0.0.1:0 --ready-file …'
bin/hopgate serve --data-dir "$work/data" --http 127.0.0.1:0 --grpc 127.0.0.1:0 --admin 127.0.0.1:0 \
  --ready-file "$work/ready.json" 2>"$work/server.log" &
server=$!
for _ in $(seq 300); do
  [[ -s $work/ready.json ]] && break
  kill -0 "$server" 2>/dev/null || { wait "$server"; exit 1; }
  sleep 0.1
done
[[ -s $work/ready.json ]] || { echo "the server was not ready within 30 s" >&2; exit 1; }
cat "$work/ready.json"
GRAPHCTL_ADDRESS=$(address grpc)
export GRAPHCTL_ADDRESS

title "Load it"
run bin/graphctl load "$work/network"

title "Three hops: whom do the friends of the friends of a person's friends live with?"
# shellcheck disable=SC2016 # $id is the statement's.
run bin/graphctl query 'MATCH (:Person {id: $id})-[:KNOWS*3]-(p:Person) WITH DISTINCT p MATCH (p)-[:LIVES_IN]->(c:City) RETURN c.name AS city, count(*) AS people ORDER BY people DESC, city LIMIT 5' -p id=42

title "The same, operator by operator"
# shellcheck disable=SC2016
run bin/graphctl profile 'MATCH (:Person {id: $id})-[:KNOWS*3]-(p:Person) RETURN count(DISTINCT p) AS people' -p id=42

title "A shortest path"
run bin/graphctl query 'MATCH (a:Person {id: 42}), (b:Person {id: 4711}), p = shortestPath((a)-[:KNOWS*]-(b)) RETURN [n IN nodes(p) | n.firstName + " " + n.lastName] AS way, length(p) AS hops'

title "A JSON-array fetch: a person, three of her friends, and the latest comment of each"
run bin/graphctl fetch '{"Person": {"id": 42, "@column": "id,firstName,lastName"},
  "friends[]": {"count": 3, "hop": ">KNOWS", "start@": "Person/id",
    "Person:friend": {"@column": "id,firstName", "@order": "id+"},
    "Comment[]": {"hop": "<HAS_CREATOR", "count": 1, "Comment": {"@column": "id,length(content):bytes", "@order": "creationDate-"}}}}'

title "A few metrics, from http://$(address admin)/metrics"
http_get "$(address admin)" /metrics |
  grep -E '^hopgate_(statements_total\{outcome="ok"|statement_duration_seconds_(sum|count)|load_(vertices|edges)_total|plan_cache_requests_total|storage_(disk|separated_live)_bytes|panics_total)'

title "Profiles"
echo "pprof listens at http://$(address admin)/debug/pprof/ — as in:"
echo "  go tool pprof http://$(address admin)/debug/pprof/profile?seconds=5"
echo "  graphctl pprof cpu --seconds 5 --flame flame.html"

title "The end"
kill -TERM "$server"
wait "$server"
server=
echo "The server has drained and stopped; $SECONDS s, and nothing is left behind."
