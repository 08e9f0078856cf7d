package relational

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// watch starts to spill new groups when memory runs short.
func (a *aggregate) watch() {
	if a.over == nil || a.over.on {
		return
	}
	short := a.table.Acct.ShouldSpill()
	for _, g := range a.aggs {
		short = short || g.acct.ShouldSpill() || g.seen != nil && g.seen.Acct.ShouldSpill()
	}
	if short {
		a.over.begin()
	}
}

// divide adds the rows of existing groups and spills the others. Keys and arguments are computed.
func (a *aggregate) divide(b *runtime.Batch, s runtime.Sel) error {
	a.room(b.N)
	var err error
	if a.known, a.rest, err = a.over.split(b, a.cols, s, a.group, a.known[:0], a.rest[:0]); err != nil {
		return err
	}
	return a.part(b.N)
}

// part adds the rows of a.known, of n, and spills those of a.rest.
func (a *aggregate) part(n int) error {
	cells := [][][]graph.Value{a.cols}
	if a.times != nil {
		cells = append(cells, [][]graph.Value{a.counts})
	}
	for _, g := range a.aggs {
		cells = append(cells, g.cols)
	}
	if err := a.over.add(a.rest, cells...); err != nil {
		return err
	}
	return a.take(n, a.known)
}

// take adds the rows of s, of n, whose groups are numbered and whose arguments are computed.
func (a *aggregate) take(n int, s runtime.Sel) error {
	for _, g := range a.aggs {
		if err := g.take(n, s, a.group, a.counts); err != nil {
			return err
		}
	}
	return nil
}

// refill creates the groups of the next part on disk.
func (a *aggregate) refill(ctx context.Context) error {
	ok, err := a.over.next()
	if !ok || err != nil {
		return err
	}
	a.reset()
	for {
		b, err := a.over.read(ctx)
		if b == nil || err != nil {
			return err
		}
		at := 0
		for k := range a.cols {
			a.cols[k] = b.Cols[at].Vals
			at++
		}
		if a.times != nil {
			a.counts = b.Cols[at].Vals
			at++
		}
		for _, g := range a.aggs {
			for k := range g.cols {
				g.cols[k] = b.Cols[at].Vals
				at++
			}
		}
		s := runtime.AllRows(b.N)
		if a.over.on {
			if err := a.divide(b, s); err != nil {
				return err
			}
			continue
		}
		if err := a.number(b, s); err != nil {
			return err
		}
		if err := a.take(b.N, s); err != nil {
			return err
		}
		a.watch()
	}
}
