package fetch

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fetch/bind"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Plans returns the plans of a reading request, before they are optimized.
func Plans(r *syntax.Request, cat graph.Catalog) ([]*plan.Query, error) {
	p, err := bind.Request(r, cat)
	if err != nil {
		return nil, err
	}
	return plansOf(p.Members, nil), nil
}

// plansOf returns the plans that may run for members. Others of a shared program read it, too, so nothing is appended in place.
func plansOf(members []*bind.Output, all []*plan.Query) []*plan.Query {
	for _, m := range members {
		for _, q := range append(slices.Clip(m.Before), m.Query) {
			if q != nil && !q.Never {
				all = append(all, q.Q)
			}
		}
		all = plansOf(m.Members, all)
	}
	return all
}

// explains reports whether the answer shows plans.
func explains(members []*bind.Output) bool {
	return slices.ContainsFunc(members, func(m *bind.Output) bool { return m.Explain || explains(m.Members) })
}

// Check checks that the graph has the labels, and the edge types unless post creates them, of a request that writes.
func Check(r *syntax.Request, cat graph.Catalog) error {
	for _, w := range r.Writes {
		label, _ := syntax.SplitAlias(strings.TrimSuffix(w.Key, "[]"))
		if err := known(r, cat, w, label); err != nil {
			return err
		}
	}
	return nil
}

func known(r *syntax.Request, cat graph.Catalog, w *syntax.Write, label string) error {
	if isEdgeObject(w.Objs[0]) {
		if _, ok := cat.Type(label); !ok && r.Method != "post" { // the first edge creates the type
			return syntax.NotFound(w.N, "there is no edge type %q", label)
		}
		return nil
	}
	if _, ok := cat.Label(label); !ok {
		return syntax.NotFound(w.N, "there is no label %q", label)
	}
	return nil
}

// Key returns the property that is the key of a label.
func Key(cat graph.Catalog, label string) string { return bind.New(nil, cat).Key(label) }

// Count runs a head request of one table and returns the number of its rows.
func Count(ctx context.Context, r *syntax.Request, runner Runner, cache *Cache) (n int64, err error) {
	p, err := cache.program(r, runner.Catalog(), nil)
	if err != nil {
		return 0, err
	}
	x := start(ctx, r, runner, cache, io.Discard)
	if err := x.lift(p.Params); err != nil {
		return 0, err
	}
	err = x.query(p.Members[0].Query, func(row []graph.Value) error {
		n = row[p.Members[0].Fields[0].Col].Int()
		return nil
	})
	return n, err
}

// Value runs a reading request and returns its answer, whose bytes are charged, without the code.
func Value(ctx context.Context, r *syntax.Request, runner Runner, cache *Cache, charge func(bytes int) error) (v graph.Value, err error) {
	answer := &chargedBuffer{charge: charge}
	if _, err = Run(ctx, r, runner, cache, answer); err != nil {
		return v, err
	}
	if v, err = notation.ReadJSON(jsontext.NewDecoder(&answer.Buffer)); err != nil {
		return v, graph.InternalError("a fetch", err)
	}
	return graph.MapValue(slices.DeleteFunc(v.Map(), func(e graph.MapEntry) bool {
		return e.Key == "ok" || e.Key == "code" || e.Key == "msg" || e.Key == "time"
	})), nil
}

// chargedBuffer is a buffer whose bytes count.
type chargedBuffer struct {
	bytes.Buffer
	charge func(bytes int) error
}

func (b *chargedBuffer) Write(p []byte) (int, error) {
	if err := b.charge(2 * len(p)); err != nil { // the text and its values
		return 0, err
	}
	return b.Buffer.Write(p)
}
