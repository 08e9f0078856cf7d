package procedure

import (
	"context"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
)

// addAssert adds APOC's procedure that makes the schema what its arguments say. Its commands run as the transaction commits.
func (r *Registry) addAssert() {
	r.addWrite("apoc.schema.assert(indexes :: MAP, constraints :: MAP, dropExisting = true :: BOOLEAN) :: (label :: ANY, key :: STRING, "+
		"keys :: LIST<STRING>, unique :: BOOLEAN, action :: STRING)",
		"Create range indexes and unique constraints by label and key, and drop all others that are over one label or type.", assertSchema)
}

// wantedIndex is an index or a constraint that a call asks for.
type wantedIndex struct {
	label      string
	keys       []string
	constraint bool
}

// is reports whether an existing index is the wanted one.
func (w *wantedIndex) is(ix *graph.Index) bool {
	return ix.Label == w.label && slices.Equal(ix.Props, w.keys) && ix.Unique == w.constraint && !ix.Required && ix.Kind == graph.RangeIndex
}

// command returns the statement that creates the index.
func (w *wantedIndex) command() string {
	keys := make([]string, len(w.keys))
	for i, k := range w.keys {
		keys[i] = "n." + tick(k)
	}
	list := "(" + strings.Join(keys, ", ") + ")"
	if w.constraint {
		return "CREATE CONSTRAINT FOR (n:" + tick(w.label) + ") REQUIRE " + list + " IS UNIQUE"
	}
	return "CREATE INDEX FOR (n:" + tick(w.label) + ") ON " + list
}

func assertSchema(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	const name = "apoc.schema.assert"
	indexes, err := wantedIndexes(name, "indexes", c.Args[0])
	if err != nil {
		return nil, err
	}
	constraints, err := wantedIndexes(name, "constraints", c.Args[1])
	if err != nil {
		return nil, err
	}
	if c.Args[2].Kind() != graph.Bool {
		return nil, badArgument(name, "dropExisting", "a Boolean", c.Args[2])
	}
	wanted := append(indexes, constraints...)
	var rows [][]graph.Value
	add := func(label string, keys []string, unique bool, action string) {
		rows = append(rows, []graph.Value{text(label), text(keys[0]), texts(keys), graph.BoolValue(unique), text(action)})
	}
	for _, ix := range c.Graph.Indexes() {
		if len(ix.Props) == 0 || len(ix.Text.More) > 0 {
			continue // a token look-up, or one over several labels, which no argument could create
		}
		at := slices.IndexFunc(wanted, func(w wantedIndex) bool { return w.is(&ix) })
		action := "KEPT"
		switch {
		case at >= 0:
			wanted = slices.Delete(wanted, at, at+1)
		case c.Args[2].Bool():
			action = "DROPPED"
			drop := "DROP INDEX "
			if ix.IsConstraint() {
				drop = "DROP CONSTRAINT "
			}
			if _, err := c.Statement(ctx, drop+tick(ix.Name), nil); err != nil {
				return nil, err
			}
		}
		add(ix.Label+ix.Type, ix.Props, ix.Unique, action)
	}
	for _, w := range wanted {
		if _, err := c.Statement(ctx, w.command(), nil); err != nil {
			return nil, err
		}
		add(w.label, w.keys, w.constraint, "CREATED")
	}
	return rows, nil
}

// wantedIndexes reads a map of labels to lists of keys; a key may be a list of several.
func wantedIndexes(procedure, argument string, v graph.Value) (out []wantedIndex, err error) {
	wrong := func(v graph.Value) error {
		return badArgument(procedure, argument, "a map of labels to lists of property keys", v)
	}
	if v.IsNull() {
		return nil, nil
	}
	if v.Kind() != graph.Map {
		return nil, wrong(v)
	}
	for _, e := range v.Map() {
		if e.Value.Kind() != graph.List {
			return nil, wrong(v)
		}
		for _, k := range e.Value.List() {
			list := []graph.Value{k}
			if k.Kind() == graph.List {
				list = k.List()
			}
			w := wantedIndex{label: e.Key, constraint: argument == "constraints"}
			for _, k := range list {
				if k.Kind() != graph.String || k.Str() == "" {
					return nil, wrong(v)
				}
				w.keys = append(w.keys, k.Str())
			}
			if len(w.keys) == 0 || e.Key == "" {
				return nil, wrong(v)
			}
			if !slices.ContainsFunc(out, func(o wantedIndex) bool { return o.label == w.label && slices.Equal(o.keys, w.keys) }) {
				out = append(out, w)
			}
		}
	}
	return out, nil
}
