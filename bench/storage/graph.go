package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// hopgate stores the data in Hopgate's own layout. The topology cache is off, because it would hide the cost of the disk.
type hopgate struct {
	store              *local.Store
	g                  *local.Graph
	d                  *data
	person, comment    graph.LabelSet
	knows, author      graph.TypeID
	name, age, city    graph.PropID
	text, length, when graph.PropID
	people, texted     []graph.VertexID
}

func openGraph(s setup, d *data, fill bool) (_ store, err error) {
	h := &hopgate{d: d}
	h.store, err = local.Open(local.Options{
		Dir: s.dir, ValueThreshold: s.threshold, CacheMode: s.mode, CacheBytes: s.cache, TopologyBytes: -1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	if h.g, err = h.store.Local(local.DefaultGraph); err != nil {
		return nil, err
	}
	err = h.write(func(tx shard.Tx) error {
		var errs [10]error
		var p, c graph.LabelID
		p, errs[0] = tx.Label("Person")
		c, errs[1] = tx.Label("Comment")
		h.person, errs[2] = tx.LabelSet([]graph.LabelID{p})
		h.comment, errs[3] = tx.LabelSet([]graph.LabelID{c})
		for i, x := range []struct {
			to   *graph.PropID
			name string
		}{{&h.name, "name"}, {&h.age, "age"}, {&h.city, "city"}, {&h.text, "text"}, {&h.length, "length"}, {&h.when, "since"}} {
			*x.to, errs[4+i] = tx.Prop(x.name)
		}
		var e1, e2 error
		h.knows, e1 = tx.Type("KNOWS")
		h.author, e2 = tx.Type("HAS_CREATOR")
		return errors.Join(append(errs[:], e1, e2)...)
	})
	if err != nil {
		return nil, err
	}
	if fill {
		return h, h.fill()
	}
	return h, h.read(func(tx shard.Tx) (err error) {
		// Ids are assigned in the order of creation.
		h.people, err = scan(tx, "Person", h.g)
		if err == nil {
			h.texted, err = scan(tx, "Comment", h.g)
		}
		return err
	})
}

func scan(tx shard.Tx, label string, g *local.Graph) (ids []graph.VertexID, err error) {
	l, _ := g.Label(label)
	for from, done := graph.VertexID(0), false; !done; {
		buf := make([]graph.VertexID, 0, 1024)
		if buf, from, done, err = tx.Scan(context.Background(), l, from, buf); err != nil {
			return nil, err
		}
		ids = append(ids, buf...)
	}
	return ids, nil
}

func (h *hopgate) write(f func(tx shard.Tx) error) error {
	tx, err := h.g.Begin(context.Background(), shard.Write)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit(context.Background())
}

func (h *hopgate) read(f func(tx shard.Tx) error) error {
	tx, err := h.g.Begin(context.Background(), shard.Read)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return f(tx)
}

func (h *hopgate) newPerson(p person) shard.Mutation {
	return shard.Mutation{Op: shard.CreateVertex, Labels: h.person, Props: []graph.Property{
		{ID: h.name, Value: graph.StringValue(p.name)}, {ID: h.age, Value: graph.IntValue(p.age)}, {ID: h.city, Value: graph.StringValue(p.city)},
	}}
}

func (h *hopgate) newComment(c comment) shard.Mutation {
	return shard.Mutation{Op: shard.CreateVertex, Labels: h.comment, Props: []graph.Property{
		{ID: h.text, Value: graph.StringValue(c.text)}, {ID: h.length, Value: graph.IntValue(c.length)},
	}}
}

func (h *hopgate) newKnows(src, dst graph.VertexID, since int64) shard.Mutation {
	return shard.Mutation{
		Op: shard.CreateEdge, Edge: graph.Edge{Src: src, Dst: dst, Type: h.knows}, Props: []graph.Property{{ID: h.when, Value: graph.IntValue(since)}},
	}
}

// batched commits n mutations, a thousand at a time, and returns the ids of the vertices.
func (h *hopgate) batched(n int, m func(i int) shard.Mutation) (ids []graph.VertexID, err error) {
	for from := 0; from < n && err == nil; from += 1000 {
		err = h.write(func(tx shard.Tx) error {
			var ms []shard.Mutation
			for i := from; i < min(n, from+1000); i++ {
				ms = append(ms, m(i))
			}
			err := tx.Apply(context.Background(), ms)
			for i := range ms {
				ids = append(ids, ms[i].Vertex)
			}
			return err
		})
	}
	return ids, err
}

func (h *hopgate) fill() (err error) {
	if h.people, err = h.batched(len(h.d.people), func(i int) shard.Mutation { return h.newPerson(h.d.people[i]) }); err != nil {
		return err
	}
	if h.texted, err = h.batched(len(h.d.comments), func(i int) shard.Mutation { return h.newComment(h.d.comments[i]) }); err != nil {
		return err
	}
	_, err = h.batched(len(h.d.comments), func(i int) shard.Mutation {
		e := graph.Edge{Src: h.texted[i], Dst: h.people[h.d.comments[i].author], Type: h.author}
		return shard.Mutation{Op: shard.CreateEdge, Edge: e}
	})
	if err != nil {
		return err
	}
	_, err = h.batched(len(h.d.knows), func(i int) shard.Mutation {
		k := h.d.knows[i]
		return h.newKnows(h.people[k.src], h.people[k.dst], k.since)
	})
	return err
}

// number returns the number of a person: with one shard, people have the first ids.
func (h *hopgate) number(id graph.VertexID) int { return int(id.Local() - h.people[0].Local()) }

func (h *hopgate) step(from []int) (out []int, err error) {
	err = h.read(func(tx shard.Tx) error {
		var f, t graph.VertexSet
		for _, p := range from {
			f.Add(h.people[p])
		}
		if err := tx.Step(context.Background(), &f, []graph.TypeID{h.knows}, graph.Out, &t); err != nil {
			return err
		}
		for _, id := range t.AppendTo(nil) {
			out = append(out, h.number(id))
		}
		return nil
	})
	return out, err
}

func (h *hopgate) expand(tx shard.Tx, p int, props ...graph.PropID) (*shard.Neighbours, error) {
	var res shard.Neighbours
	err := tx.Expand(context.Background(), &shard.Expand{Sources: h.people[p : p+1], Types: []graph.TypeID{h.knows}, Dir: graph.Out, Props: props}, &res)
	return &res, err
}

func (h *hopgate) names(p int) (sum int, err error) {
	err = h.read(func(tx shard.Tx) error {
		res, err := h.expand(tx, p)
		if err != nil || len(res.Targets) == 0 {
			return err
		}
		out := [][]graph.Value{make([]graph.Value, len(res.Targets)), make([]graph.Value, len(res.Targets))}
		if err := tx.Properties(context.Background(), res.Targets, []graph.PropID{h.name, h.age}, out); err != nil {
			return err
		}
		for i := range res.Targets {
			sum += len(out[0][i].Str()) + int(out[1][i].Int()&1)
		}
		return nil
	})
	return sum, err
}

func (h *hopgate) texts(cs []int) (sum int, err error) {
	err = h.read(func(tx shard.Tx) error {
		ids := make([]graph.VertexID, len(cs))
		for i, c := range cs {
			ids[i] = h.texted[c]
		}
		out := [][]graph.Value{make([]graph.Value, len(cs))}
		if err := tx.Properties(context.Background(), ids, []graph.PropID{h.text}, out); err != nil {
			return err
		}
		for _, v := range out[0] {
			sum += len(v.Str())
		}
		return nil
	})
	return sum, err
}

func (h *hopgate) since(p int) (sum int64, err error) {
	err = h.read(func(tx shard.Tx) error {
		res, err := h.expand(tx, p, h.when)
		if err != nil {
			return err
		}
		for i := range res.Targets {
			sum += res.Props[0][i].Int()
		}
		return nil
	})
	return sum, err
}

func (h *hopgate) insert(friend int, c comment) error {
	return h.write(func(tx shard.Tx) error {
		ms := []shard.Mutation{h.newPerson(person{"a new person", 30, "Oslo"}), h.newComment(c)}
		if err := tx.Apply(context.Background(), ms); err != nil {
			return err
		}
		return tx.Apply(context.Background(), []shard.Mutation{
			h.newKnows(ms[0].Vertex, h.people[friend], 1),
			{Op: shard.CreateEdge, Edge: graph.Edge{Src: ms[1].Vertex, Dst: h.people[friend], Type: h.author}},
		})
	})
}

func (h *hopgate) settle() error {
	return errors.Join(h.g.Settle(context.Background()), h.g.Flush(context.Background()))
}

func (h *hopgate) size() uint64 {
	s := h.g.Stats()[0]
	return s.Graph.DiskBytes + s.Values.DiskBytes
}

func (h *hopgate) close() error { return h.store.Close() }
