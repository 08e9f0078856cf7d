#!/usr/bin/env bash
# Shows the main job from end to end, in a directory of its own that goes when it ends: makes a network, serves an empty graph, loads
# the network, queries it, fetches from it, looks at metrics, and stops. PERSONS sets the size.
set -euo pipefail
cd "$(dirname "$0")/.."
persons=${PERSONS:-10000}
dir=$(mktemp -d)
server=
finish() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$dir"
}
trap finish EXIT

say() { printf '\n== %s\n' "$*"; }
show() { printf '$ graphctl %s\n' "$*"; bin/graphctl --address "$grpc" "$@"; }
address() { sed -E "s/.*\"$1\":\"([^\"]+)\".*/\1/" "$dir/ready"; }

say "a network of $persons people with long comments"
bin/graphctl generate social --persons "$persons" --comment-bytes 1024..8192 -d "$dir/network"

say "a server on free ports"
bin/hopgate serve --data-dir "$dir/data" --http 127.0.0.1:0 --grpc 127.0.0.1:0 --admin 127.0.0.1:0 --ready-file "$dir/ready" --log-level warn &
server=$!
for _ in $(seq 200); do
  [ -f "$dir/ready" ] && break
  kill -0 "$server" || exit 1
  sleep 0.1
done
http=$(address http) grpc=$(address grpc) admin=$(address admin)
echo "HTTP $http, gRPC $grpc, admin $admin"

say "load"
show load "$dir/network"

say "three hops: how many people are within three steps of person 42?"
show query 'MATCH (p:Person {id: $id})-[:KNOWS*1..3]->(q) RETURN count(DISTINCT q) AS reached' -p id=42

say "a shortest path"
show query 'MATCH (a:Person {id: 42}), (b:Person {id: $to}), p = shortestPath((a)-[:KNOWS*]-(b)) RETURN [n IN nodes(p) | n.firstName] AS people' -p to="$((persons - 42))"

say "a JSON-array fetch: a person, three friends, and the length of what each wrote"
show fetch '{"Person": {"id": 42, "@column": "id,firstName,lastName"},
  "friends[]": {"count": 3, "hop": ">KNOWS", "start@": "Person/id", "Person:f": {"@column": "id,firstName"},
    "Comment[]": {"hop": "<HAS_CREATOR", "count": 2, "Comment": {"@column": "id,length(content):bytes"}}}}'

say "the same server over HTTP"
printf '{"statement": "MATCH (c:Comment) RETURN count(*) AS comments, max(size(c.content)) AS longest"}' >"$dir/request"
if command -v curl >/dev/null; then
  curl -sS "http://$http/v1/query" -H 'Content-Type: application/json' --data @"$dir/request"
else
  echo "(curl is not here; POST $dir/request to http://$http/v1/query)"
fi

say "what it cost"
show profile 'MATCH (p:Person {id: 42})-[:KNOWS]->()-[:KNOWS]->(q:Person) RETURN q.lastName AS name, count(*) AS n ORDER BY n DESC LIMIT 3'
if command -v curl >/dev/null; then
  curl -sS "http://$admin/metrics" | grep -E '^hopgate_(statements_total|rows_total|plan_cache_requests_total)' | grep -v ' 0$'
fi
echo "profiles: http://$admin/debug/pprof/ while the server runs; graphctl pprof cpu --flame FILE.html draws one"

say "stop"
kill "$server"
wait "$server"
server=
echo "the server has drained and ended; nothing is left running"
