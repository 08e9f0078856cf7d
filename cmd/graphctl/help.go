package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples holds the command lines in each command's help, by the command's path below graphctl.
var examples = map[string][]string{
	"backup": {"graphctl backup /var/backups/hopgate", "graphctl backup s3://bucket/hopgate --graph shop", "graphctl backup /var/backups/hopgate --verify", "graphctl backup --log s3://bucket/hopgate"},
	"bench":  {"graphctl bench hops --clients 8 --seconds 10"},
	"changes": {
		"graphctl changes --from snapshot --state people.token > people.ndjson",
		"graphctl changes --selectors '[{\"select\": \"n\", \"labels\": [\"Person\"], \"operation\": \"u\"}]'",
		"graphctl changes --from earliest --once --format debezium",
		"graphctl changes --from snapshot --to kafka://127.0.0.1:9092/people", "graphctl changes --from earliest --to nats://127.0.0.1:4222/people",
	},
	"check":            {"graphctl check --graph shop", "graphctl check --repair"},
	"debuginfo":        {"graphctl debuginfo -O hopgate.tar.gz"},
	"explain":          {"graphctl explain 'MATCH (p:Person {id: $id})-[:KNOWS]->(q) RETURN q' -p id=42 --quote"},
	"export":           {"graphctl export shop-2026 --graph shop --format parquet", "graphctl export shop-2026 --format cypher"},
	"fetch":            {`graphctl fetch '{"Person[]": {"Person": {"id<": 10}}}'`, "graphctl fetch -f request.json"},
	"generate":         {"graphctl generate social --persons 1000 -d social"},
	"generate social":  {"graphctl generate social --persons 1000 --seed 7 -d social"},
	"kill":             {"graphctl ps", "graphctl kill 17"},
	"load":             {"graphctl load people.csv --init > people.yaml", "graphctl load people.yaml --max-rejects 1% --rejects-dir rejects", "graphctl load --nodes Person=people.csv --relationships KNOWS=knows.csv", "graphctl load bolt://127.0.0.1:7687 --from-user neo4j --graph copy"},
	"member":           {"graphctl member list"},
	"member add":       {"graphctl member add hopgate-4:9190"},
	"member list":      {"graphctl member list", "graphctl member list -o json"},
	"member move":      {"graphctl member move --shard 3 --from 0 --to 4"},
	"member rebalance": {"graphctl member rebalance --dry-run", "graphctl member rebalance --drain 2"},
	"member remove":    {"graphctl member remove 2", "graphctl member remove hopgate-2:9190"},
	"member replace":   {"graphctl member replace 2"},
	"member transfer":  {"graphctl member transfer 0 1"},
	"path":             {"graphctl path --from Person:id=42 --to Person:id=7 --edge KNOWS --direction both", "graphctl path --from City:name=Oslo --to City:name=Rome --edge ROAD --weight km"},
	"pprof":            {"graphctl pprof cpu --seconds 10 --flame cpu.html", "graphctl pprof heap --from 90m -O heap.pb.gz"},
	"profile":          {"graphctl profile 'MATCH (p:Person)-[:KNOWS]->(q) RETURN count(q)' --sunburst profile.html"},
	"ps":               {"graphctl ps"},
	"query": {
		"graphctl query 'MATCH (p:Person {id: $id}) RETURN p' -p id=42", "graphctl query -o csv 'MATCH (p:Person) RETURN p.id, p.name' > people.csv",
		"graphctl query -f schema.cypher", "graphctl shell",
	},
	"restore":           {"graphctl restore /var/backups/hopgate --data-dir hopgate-data", "graphctl restore /var/backups/hopgate --data-dir hopgate-data --to 2026-03-01T12:00:00Z", "graphctl restore /var/backups/hopgate --replicas 3 --processes 3 --process 0 --data-dir p0"},
	"manual":            {"graphctl manual man1"},
	"mcp":               {"graphctl mcp --profile reader"},
	"quota":             {"graphctl quota list"},
	"quota put":         {"graphctl quota put agents --for role=agent --each --amount 20000 --window minute --mode enforce"},
	"quota list":        {"graphctl quota list"},
	"quota drop":        {"graphctl quota drop agents"},
	"operation":         {"graphctl operation list"},
	"operation put":     {"graphctl operation put operations/*.cypher --graph shop"},
	"operation list":    {"graphctl operation list"},
	"operation show":    {"graphctl operation show friends"},
	"operation disable": {"graphctl operation disable friends"},
	"operation enable":  {"graphctl operation enable friends"},
	"operation drop":    {"graphctl operation drop friends"},
	"operation import":  {"graphctl operation import persisted-query-manifest.json"},
	"rules":             {"graphctl rules show"},
	"rules apply":       {"graphctl rules apply -f rules.cypher --graph shop --dry-run"},
	"rules show":        {"graphctl rules show --graph shop > rules.cypher"},
	"rules test":        {"graphctl rules test --as ann.json 'MATCH (p:Patient) RETURN p'"},
	"schema":            {"graphctl schema --graph shop"},
	"slowlog":           {"graphctl slowlog -n 3"},
	"stats":             {"graphctl stats -o json"},
	"top":               {"graphctl top", "graphctl top -n 1 --sort p99"},
	"trace":             {"graphctl trace --min 100ms --match KNOWS -n 5"},
	"traverse":          {"graphctl traverse --from Person:id=42 --edge KNOWS --hops 1..2 --return count", "graphctl traverse --from Person:id=42 --edge KNOWS,LIKES --direction both --where 'e.since > 2020'"},
	"version":           {"graphctl version"},
}

// addHelp adds examples and completions to all commands below cmd.
func (a *app) addHelp(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		if lines := examples[path]; lines != nil {
			c.Example = "  " + strings.Join(lines, "\n  ")
		}
		a.addCompletions(c)
		a.addHelp(c)
	}
}
