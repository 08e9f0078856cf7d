package server

import (
	"fmt"
	"slices"
)

// acidCase is an anomaly of LDBC's ACID suite, with transactions in which it would show. Their statements are kept apart,
// so that one that is not isolated is seen.
type acidCase struct {
	name  string
	setup []string
	// write is the n-th transaction that writes, read one that reads, and final reads at the end. They report anomalies.
	write func(run runFunc, n int, anomaly func(string)) error
	read  func(run runFunc, anomaly func(string)) error
	final func(run runFunc, committed int64, anomaly func(string)) error
}

// each runs statements one after another.
func each(run runFunc, params map[string]any, statements ...string) error {
	for _, s := range statements {
		if _, err := run(s, params); err != nil {
			return err
		}
	}
	return nil
}

// same returns the check that two runs of a statement in one transaction answer the same.
func same(statement string) func(runFunc, func(string)) error {
	return func(run runFunc, anomaly func(string)) error {
		first, err := run(statement, nil)
		if err != nil {
			return err
		}
		second, err := run(statement, nil)
		if err == nil && fmt.Sprint(first) != fmt.Sprint(second) {
			anomaly(fmt.Sprintf("first %v, then %v", first, second))
		}
		return err
	}
}

const (
	cycle = "CREATE (p1:P {id: 1, version: 0})-[:KNOWS]->(:P {id: 2, version: 0})-[:KNOWS]->(:P {id: 3, version: 0})-[:KNOWS]->" +
		"(:P {id: 4, version: 0})-[:KNOWS]->(p1)"
	readCycle = "MATCH (a:P {id: 1})-[:KNOWS]->(b)-[:KNOWS]->(c)-[:KNOWS]->(d)-[:KNOWS]->(a) RETURN a.version, b.version, c.version, d.version"
)

// writeCycle sets all vertices of the cycle to their next version.
func writeCycle(run runFunc, _ int, _ func(string)) error {
	for id := 1; id <= 4; id++ {
		if err := each(run, map[string]any{"id": id}, "MATCH (p:P {id: $id}) SET p.version = p.version + 1"); err != nil {
			return err
		}
	}
	return nil
}

// people reports whether the parts of transactions are visible atomically: each commits one mail, one person and one edge.
func people(run runFunc) (row []any, whole bool, err error) {
	row, err = run("MATCH (p:P) WITH count(p) - 2 AS persons, sum(size(p.mails)) - 3 AS mails OPTIONAL MATCH (:P)-[k:KNOWS]->() RETURN persons, mails, count(k)", nil)
	if err != nil {
		return nil, false, err
	}
	return row, row[0] == row[1] && row[0] == row[2], nil
}

func readPeople(run runFunc, anomaly func(string)) error {
	row, whole, err := people(run)
	if err == nil && !whole {
		anomaly(fmt.Sprintf("a part of a transaction: %v", row))
	}
	return err
}

func finalPeople(run runFunc, committed int64, anomaly func(string)) error {
	row, whole, err := people(run)
	if err == nil && (!whole || row[0] != committed) {
		anomaly(fmt.Sprintf("%v after %d commits", row, committed))
	}
	return err
}

var (
	twoPeople = []string{"CREATE (:P {id: 1, mails: ['a']}), (:P {id: 2, mails: ['b', 'c']})"}
	newPerson = []string{
		"MATCH (p:P {id: 1}) SET p.mails = p.mails + ['x' + $n]",
		"MATCH (p:P {id: 1}) CREATE (p)-[:KNOWS {since: $n}]->(:P {id: 10 + $n, mails: []})",
	}
)

// acidCases are the anomalies that snapshot isolation excludes. Write skew is not among them.
var acidCases = []*acidCase{
	{
		name: "C", setup: twoPeople, read: readPeople, final: finalPeople,
		write: func(run runFunc, n int, _ func(string)) error { return each(run, map[string]any{"n": n}, newPerson...) },
	},
	{
		name: "RB", setup: twoPeople, read: readPeople, final: finalPeople,
		write: func(run runFunc, n int, _ func(string)) error {
			err := each(run, map[string]any{"n": n}, newPerson...)
			if err == nil && n%2 == 0 {
				err = errAbort
			}
			return err
		},
	},
	{
		name:  "G0",
		setup: []string{"CREATE (:P {id: 1, history: [0]})-[:KNOWS {history: [0]}]->(:P {id: 2, history: [0]})"},
		write: func(run runFunc, n int, _ func(string)) error {
			return each(
				run, map[string]any{"n": n},
				"MATCH (p:P {id: 1}) SET p.history = p.history + [$n]",
				"MATCH (:P {id: 1})-[k:KNOWS]->() SET k.history = k.history + [$n]",
				"MATCH (p:P {id: 2}) SET p.history = p.history + [$n]",
			)
		},
		final: func(run runFunc, committed int64, anomaly func(string)) error {
			row, err := run("MATCH (p:P {id: 1})-[k:KNOWS]->(q) RETURN p.history, k.history, q.history", nil)
			if err != nil {
				return err
			}
			first := fmt.Sprint(row[0])
			if list, _ := row[0].([]any); int64(len(list)) != committed+1 || first != fmt.Sprint(row[1]) || first != fmt.Sprint(row[2]) {
				anomaly(fmt.Sprintf("histories of %d commits: %v", committed, row))
			}
			return nil
		},
	},
	{
		name: "G1a", setup: []string{"CREATE (:P {id: 1, version: 1})"},
		write: func(run runFunc, _ int, _ func(string)) error {
			if err := each(run, nil, "MATCH (p:P {id: 1}) SET p.version = 2"); err != nil {
				return err
			}
			return errAbort
		},
		read: func(run runFunc, anomaly func(string)) error {
			row, err := run("MATCH (p:P {id: 1}) RETURN p.version", nil)
			if err == nil && row[0] != int64(1) {
				anomaly(fmt.Sprintf("read what was rolled back: %v", row))
			}
			return err
		},
	},
	{
		name: "G1b", setup: []string{"CREATE (:P {id: 1, version: 99})"},
		write: func(run runFunc, n int, _ func(string)) error {
			return each(
				run, map[string]any{"n": n},
				"MATCH (p:P {id: 1}) SET p.version = 2 * $n",
				"MATCH (p:P {id: 1}) SET p.version = 2 * $n + 1",
			)
		},
		read: func(run runFunc, anomaly func(string)) error {
			row, err := run("MATCH (p:P {id: 1}) RETURN p.version % 2", nil)
			if err == nil && row[0] != int64(1) {
				anomaly("read a version in between")
			}
			return err
		},
	},
	{
		// Two transactions that read each other's write: each notes what it read, so that the end shows it.
		name: "G1c", setup: []string{"CREATE (:P {id: 0, version: 0}), (:P {id: 1, version: 0})"},
		write: func(run runFunc, n int, _ func(string)) error {
			return each(
				run, map[string]any{"n": n, "own": n % 2, "other": 1 - n%2},
				"MATCH (p:P {id: $own}) SET p.version = $n",
				"MATCH (p:P {id: $other}) CREATE (:Read {by: $n, of: p.version})",
			)
		},
		final: func(run runFunc, _ int64, anomaly func(string)) error {
			row, err := run("MATCH (a:Read), (b:Read) WHERE a.by < b.by AND a.of = b.by AND b.of = a.by RETURN collect([a.by, b.by])", nil)
			if list, _ := row[0].([]any); err == nil && len(list) > 0 {
				anomaly(fmt.Sprintf("circles: %v", list))
			}
			return err
		},
	},
	{
		name: "OTV", setup: []string{cycle}, write: writeCycle,
		read: func(run runFunc, anomaly func(string)) error {
			first, err := run(readCycle, nil)
			if err != nil {
				return err
			}
			second, err := run(readCycle, nil)
			if err != nil {
				return err
			}
			number := func(a, b any) int { return int(a.(int64) - b.(int64)) } //nolint:forcetypeassert // a test
			if number(slices.MaxFunc(first, number), slices.MinFunc(second, number)) > 0 {
				anomaly(fmt.Sprintf("a transaction vanished: %v, then %v", first, second))
			}
			return nil
		},
	},
	{name: "FR", setup: []string{cycle}, write: writeCycle, read: same(readCycle)},
	{
		name: "IMP", setup: []string{"CREATE (:P {id: 1, version: 1})"},
		write: func(run runFunc, _ int, _ func(string)) error {
			return each(run, nil, "MATCH (p:P {id: 1}) SET p.version = p.version + 1")
		},
		read: same("MATCH (p:P {id: 1}) RETURN p.version"),
	},
	{
		name: "PMP", setup: []string{"CREATE (:P {id: 1}), (:Post {id: 1})"},
		write: func(run runFunc, _ int, _ func(string)) error {
			return each(run, nil, "MATCH (p:P {id: 1}), (post:Post {id: 1}) CREATE (p)-[:LIKES]->(post)")
		},
		read: same("MATCH (:Post {id: 1})<-[:LIKES]-(p:P) RETURN count(p)"),
	},
	{
		name: "LU", setup: []string{"CREATE (:P {id: 1, friends: 0})"},
		write: func(run runFunc, _ int, _ func(string)) error {
			row, err := run("MATCH (p:P {id: 1}) RETURN p.friends", nil)
			if err != nil {
				return err
			}
			friends, _ := row[0].(int64)
			return each(
				run, map[string]any{"n": int(friends) + 1},
				"MATCH (p:P {id: 1}) CREATE (p)-[:KNOWS]->(:P)",
				"MATCH (p:P {id: 1}) SET p.friends = $n",
			)
		},
		final: func(run runFunc, committed int64, anomaly func(string)) error {
			row, err := run("MATCH (p:P {id: 1}) OPTIONAL MATCH (p)-[k:KNOWS]->() RETURN p.friends, count(k)", nil)
			if err == nil && (row[0] != committed || row[1] != committed) {
				anomaly(fmt.Sprintf("%v after %d commits", row, committed))
			}
			return err
		},
	},
}
