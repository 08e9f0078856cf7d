package fetch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// TestPlans shows the plans of requests: below RollUp and similar nodes, a subplan that does not depend on the rows around it runs
// once for all of them.
func TestPlans(t *testing.T) {
	w := newWorld(t, 2)
	w.load(small)
	datadriven.RunTest(t, "testdata/plans", func(t *testing.T, d *datadriven.TestData) string {
		w.t = t
		w.plans = map[*plan.Query]*exec.Prepared{}
		if answer := w.fetch(d.Cmd, d.Input); !strings.Contains(answer, `"ok":true`) {
			return answer
		}
		var plans []string
		for q := range w.plans {
			plans = append(plans, plan.Format(q))
		}
		slices.Sort(plans)
		return strings.Join(plans, "")
	})
}

// someRows builds a graph of users with lists of all kinds and comments that refer to them, few of them correctly.
func someRows(r *rand.Rand) string {
	var b strings.Builder
	for id := 1; id <= 30; id++ {
		lists := []string{
			`, "ids": [3, 1, 2, 3, 3.0]`, `, "ids": []`, ``, `, "ids": 4`, `, "ids": "[5, 6, 5]"`, `, "ids": "seven"`, `, "ids": [7.0, 7.5]`,
			`, "ids": ["a", "b", "a"]`, `, "ids": true`, fmt.Sprintf(`, "ids": [%d, %d, %d]`, r.IntN(12), r.IntN(12), r.IntN(12)),
		}
		fmt.Fprintf(&b, "User {\"id\": %d, \"n\": %d%s}\n", id, r.IntN(12), lists[r.IntN(len(lists))])
	}
	for id := 1; id <= 300; id++ {
		owners := []string{
			fmt.Sprintf(`, "u": %d`, r.IntN(12)), fmt.Sprintf(`, "u": %d`, r.IntN(12)), fmt.Sprintf(`, "u": %d.0`, r.IntN(12)),
			``, `, "u": "a"`, `, "u": "seven"`, `, "u": true`, `, "u": [7.0, 7.5]`,
		}
		fmt.Fprintf(&b, "Comment {\"id\": %d, \"k\": %d%s}\n", id, r.IntN(4), owners[r.IntN(len(owners))])
	}
	return b.String()
}

// TestReferencesToRows compares the answers of arrays whose items refer to their rows with and without an index on the compared
// property, and with the answers for each row by itself.
func TestReferencesToRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, batch := range []int{1, 3, 0} {
		text := someRows(r)
		plainly, byIndex := newWorld(t, 3), newWorld(t, 3)
		for _, w := range []*world{plainly, byIndex} {
			w.batch = batch
			w.load(text)
		}
		ix := graph.Index{Name: "Comment_u", Label: "Comment", Props: []string{"u"}, Indexed: true}
		if err := byIndex.g.CreateIndex(context.Background(), ix); err != nil {
			t.Fatal(err)
		}
		for _, inside := range []string{
			`"Comment[]": {"Comment": {"u{}@": "%s/ids", "@column": "id"}}`,
			`"Comment[]": {"count": 3, "page": 1, "Comment": {"u{}@": "%s/ids", "@column": "id,u"}}`,
			`"Comment[]": {"count": 2, "query": 2, "Comment": {"u{}@": "%s/ids", "k": 1, "@column": "id"}}`,
			`"Comment[]": {"count": 0, "Comment": {"u{}@": "%s/ids", "@column": "u,count(*):c", "@group": "u", "@order": "c-,u+"}}`,
			`"Comment-id[]": {"count": 0, "Comment": {"u{}@": "%s/ids", "k>": 0, "@order": "k-"}}`,
			`"Comment[]": {"Comment": {"u!{}@": "%s/ids", "@column": "id"}}`,
			`"Comment[]": {"Comment": {"u@": "%s/n", "@column": "id"}}`,
			`"Comment[]": {"Comment": {"u!@": "%s/n", "k": 2, "@column": "id"}}`,
			`"Comment[]": {"Comment": {"u>@": "%s/n", "k<@": "%[1]s/n", "@column": "id", "@order": "id+"}}`,
			`"Comment[]": {"Comment": {"u{}@": "%s/ids", "k<=@": "%[1]s/n", "@column": "id"}}`,
			`"Comment[]": {"Comment": {"u{}@": "%s/ids", "k@": "%[1]s/n", "@combine": "u{} | k", "@column": "id"}}`,
			`"Comment[]": {"Comment": {"u<>@": "%s/ids", "@column": "id"}}`,
			`"Comment": {"u{}@": "%s/ids", "@column": "id"}`,
			`"Comment[]": {"join": "&/Comment:c/k@", "Comment": {"u{}@": "%s/ids", "@column": "id"}, "Comment:c": {"k@": "/Comment/k", "id{}": [1, 2, 3], "@column": "id"}}`,
			`"Comment[]": {"Comment": {"@from@": {"from": "Comment", "Comment": {"@column": "u,id", "k": 3}}, "u{}@": "%s/ids", "@column": "id", "@order": "id+"}}`,
		} {
			request := func(at string) string { return fmt.Sprintf(inside, at) }
			array := fmt.Sprintf(`{"[]": {"count": 0, "User": {"@order": "id+"}, %s}}`, request("[]/User"))
			all := items(t, plainly.fetch("get", array))
			if len(all) != 30 {
				t.Fatalf("%d items of %s", len(all), array)
			}
			if sought := items(t, byIndex.fetch("get", array)); fmt.Sprintf("%s", sought) != fmt.Sprintf("%s", all) {
				t.Errorf("batch %d: %s\nwith an index\n%s\nwithout\n%s", batch, array, sought, all)
			}
			for i, item := range all {
				one := plainly.fetch("get", fmt.Sprintf(`{"User": {"id": %d}, %s}`, i+1, request("User")))
				if got, want := members(t, string(item)), members(t, one); got != want {
					t.Errorf("batch %d: %s of user %d\nin the array %s\nby itself    %s", batch, inside, i+1, got, want)
				}
			}
		}
	}
}

// members are the members of an item, or of an answer without its envelope, except for the main row.
func members(t *testing.T, text string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"ok", "code", "msg", "time", "User"} {
		delete(m, key)
	}
	out, _ := json.Marshal(m)
	return string(out)
}
