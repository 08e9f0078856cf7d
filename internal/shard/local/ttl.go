package local

import (
	"context"
	"errors"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/shard/local/maintain"
	"github.com/hopgate/hopgate/internal/storage"
)

// A TTL is a hidden index: over the property that holds the time from which it counts, or over a hidden property
// that every write sets to its time. So its entries are maintained, built, loaded and checked like those of any index, and what
// is due comes first among them.

// TTLs implements shard.Graph.
func (g *Graph) TTLs() []graph.TTL {
	var out []graph.TTL
	for _, ix := range g.Expiries() {
		out = append(out, ttlOf(ix))
	}
	return out
}

func ttlOf(ix graph.Index) graph.TTL {
	t := graph.TTL{Label: ix.Label, Type: ix.Type, After: ix.TTL}
	if len(ix.Props) > 0 {
		t.Property = ix.Props[0]
	}
	return t
}

// SetTTL implements shard.Graph.
func (g *Graph) SetTTL(ctx context.Context, t graph.TTL) error {
	b, err := g.setTTL(ctx, t)
	if err != nil || b == nil {
		return err
	}
	return b.Await(ctx, g.stop, false)
}

// setTTL defines a TTL; it returns nil if the graph needs no new entries.
func (g *Graph) setTTL(ctx context.Context, t graph.TTL) (b *maintain.Build, err error) {
	if (t.Label == "") == (t.Type == "") || t.After <= 0 {
		return nil, fail.Invalid("a TTL needs a label or an edge type, and a positive duration")
	}
	err = g.changing(ctx, func() error {
		old := g.expiriesOf(t.Label, t.Type)
		if len(old) == 1 && ttlOf(old[0]).Property == t.Property {
			old[0].TTL = t.After
			if err := tell(g, func(cm *storage.CommitInfo) error { return g.PutIndex(old[0], cm) }); err != nil {
				return err
			}
			g.loadDefs()
			return g.expirer.Refresh()
		}
		ix := graph.Index{Name: "ttl", Label: t.Label, Type: t.Type, Indexed: true, TTL: t.After}
		if t.Property != "" {
			ix.Props = []string{t.Property}
		}
		if b, err = g.addIndex(ix); err != nil {
			return err
		}
		return g.removeExpiries(old)
	})
	return b, err
}

// DropTTL implements shard.Graph.
func (g *Graph) DropTTL(ctx context.Context, label, typ string) error {
	return g.changing(ctx, func() error {
		old := g.expiriesOf(label, typ)
		if len(old) == 0 {
			return fail.NotFound("no TTL on %s", label+typ)
		}
		return g.removeExpiries(old)
	})
}

// changing calls f with the writer's lock.
func (g *Graph) changing(ctx context.Context, f func() error) error {
	if err := g.Enter(); err != nil {
		return err
	}
	defer g.Leave()
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	return f()
}

// expiriesOf returns the TTLs on a label or type: one, none, or two if a crash came between the creation of a new one and the removal of the
// old.
func (g *Graph) expiriesOf(label, typ string) []graph.Index {
	var out []graph.Index
	for _, ix := range g.Expiries() {
		if ix.Label == label && ix.Type == typ {
			out = append(out, ix)
		}
	}
	return out
}

// removeExpiries ends TTLs. The caller holds the writer's lock.
func (g *Graph) removeExpiries(old []graph.Index) error {
	var errs []error
	for _, ix := range old {
		errs = append(errs, g.removeIndex(ix))
	}
	return errors.Join(append(errs, g.expirer.Refresh())...)
}
