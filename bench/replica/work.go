package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// reads are requests with the parameter id, in turns to all sides; a fetch has a body in place of a statement.
var reads = []struct{ name, statement, fetch string }{
	{name: "a person by key", statement: "MATCH (p:Person {id: $id}) RETURN p.firstName"},
	{name: "distinct count, 2 hops", statement: "MATCH (p:Person {id: $id})-[:KNOWS]->()-[:KNOWS]->(q) RETURN count(DISTINCT q)"},
	{name: "distinct count, 3 hops", statement: "MATCH (p:Person {id: $id})-[:KNOWS]->()-[:KNOWS]->()-[:KNOWS]->(q) RETURN count(DISTINCT q)"},
	{name: "three properties a row, 2 hops", statement: "MATCH (p:Person {id: $id})-[:KNOWS]->()-[:KNOWS]->(q) WITH DISTINCT q RETURN q.id, q.firstName, q.birthday ORDER BY q.id"},
	{name: "a fetch of 10,000 people", fetch: fmt.Sprintf(`{"Person[]": {"count": %d, "Person": {"@column": "id,firstName"}}}`, fetched)},
}

// fetched is how many people the fetch asks for.
const fetched = 10_000

// work loads a network into one process, a cluster without replicas and one with three, and reads from all.
func work(w io.Writer, o *options, dir string) error {
	sides := []struct {
		name     string
		replicas int
		c        *deployment
	}{{"one process", -1, nil}, {"three shards", 1, nil}, {"three replicas", 3, nil}}
	files := filepath.Join(dir, "files")
	graphctl := func(args ...string) (string, error) {
		out, err := exec.CommandContext(context.Background(), filepath.Join(o.bin, "graphctl"), args...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("graphctl %s: %w: %s", args[0], err, out)
		}
		return string(out), nil
	}
	out, err := graphctl("generate", "social", "--persons", strconv.Itoa(o.persons), "-d", files)
	if err != nil {
		return err
	}
	var vertices, edges int
	if _, err := fmt.Sscanf(out, "wrote %d vertices and %d edges", &vertices, &edges); err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	fmt.Fprintf(w, "\n%d people; medians of reads through HTTP in turns\n", o.persons)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, s := range sides {
		fmt.Fprintf(t, "%s\t", s.name)
	}
	fmt.Fprint(t, "\nload, rows/s\t")
	for i := range sides {
		s := &sides[i]
		s.c, err = startCluster(o, filepath.Join(dir, "work"+strconv.Itoa(i)), s.replicas)
		if s.c != nil && s.c.front != nil {
			defer s.c.stop()
		}
		if err != nil {
			return err
		}
		start := time.Now()
		if _, err := graphctl("--address", s.c.front.grpc, "load", files); err != nil {
			return err
		}
		fmt.Fprintf(t, "%.0f\t", float64(vertices+edges)/time.Since(start).Seconds())
	}
	fmt.Fprintln(t)
	for _, q := range reads {
		times := make([][]time.Duration, len(sides))
		for i := -o.runs / 5; i < o.runs; i++ {
			id := 1 + (i+o.runs)*7919%o.persons
			var first string
			for k := range sides {
				var answer string
				start := time.Now()
				if q.fetch != "" {
					var body []byte
					body, err = sides[k].c.ask("/get", q.fetch)
					answer = strconv.Itoa(bytes.Count(body, []byte(`"firstName"`)))
				} else {
					answer, err = sides[k].c.query(q.statement, id)
				}
				switch {
				case err == nil && q.fetch != "" && answer != strconv.Itoa(min(fetched, o.persons)):
					return fmt.Errorf("%s: %s answers %s", q.name, sides[k].name, answer)
				case err != nil:
					return fmt.Errorf("%s: %s: %w", q.name, sides[k].name, err)
				case k == 0:
					first = answer
				case answer != first:
					return fmt.Errorf("%s of %d: %s answers %.200s, %s %.200s", q.name, id, sides[0].name, first, sides[k].name, answer)
				}
				if i >= 0 {
					times[k] = append(times[k], time.Since(start))
				}
			}
		}
		fmt.Fprintf(t, "%s\t", q.name)
		for k := range times {
			slices.Sort(times[k])
			fmt.Fprintf(t, "%.2f ms\t", milliseconds(quantile(times[k], 0.5)))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
