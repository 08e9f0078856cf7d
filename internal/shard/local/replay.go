package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/index"
	"github.com/hopgate/hopgate/internal/shard/local/write"
	"github.com/hopgate/hopgate/internal/storage"
)

// Replay makes the commits of a graph's log again, in another store that has an earlier state of the graph: with their numbers and times, and
// with the ids of what they made. Nothing else may use the graph. If it fails, the store is of no use.
//
// What commits change is applied in groups, net of what they undo themselves, which is right since nobody reads in between. Indexes, constraints
// and TTLs that a commit makes, changes or drops are dropped as it comes, and those that there are at last are made at the end, so no commit
// meets a constraint that it did not keep.
type Replay struct {
	g       *Graph
	clock   *ReplayClock
	commits []changelog.Commit // of the group
	size    int                // of the group, in bytes
	net     changelog.Merger
	schema  map[string]*graph.Index // that commits have put, by name, nil where they have dropped it
	order   []string
	puts    map[definition.Ref]*definition.Record // likewise
	last    storage.LogPosition
}

// ReplayClock is the clock of a store of a Replay: it tells the time of the commit that is being made. The zero value is ready; it is
// safe for concurrent use.
type ReplayClock struct{ now atomic.Int64 }

// Now returns the time.
func (c *ReplayClock) Now() time.Time { return time.Unix(0, c.now.Load()) }

// The limits of a group: bytes of records, and the bytes of changes after which some of them are committed.
const (
	replayGroup = 1 << 20
	replayBytes = 128 << 20
)

// ReplayOptions are the options of a store for a Replay.
func ReplayOptions(dir string, clock *ReplayClock) Options {
	return Options{
		Dir: dir, LogBytes: math.MaxInt64, KeepExpired: true, Clock: clock.Now, TopologyBytes: -1, TxBytes: 1 << 30,
		// Replicas that are made by several processes hold the same only if none chooses its time to rewrite records.
		Tuning: Tuning{CompactRecords: -1, CompactIdle: 1000 * time.Hour, ReclaimBytes: -1},
	}
}

// NewReplay begins a replay in a graph, whose store has ReplayOptions with the clock.
func NewReplay(g *Graph, clock *ReplayClock) *Replay {
	g.untold = true
	return &Replay{g: g, clock: clock, last: g.log.Last(), schema: map[string]*graph.Index{}, puts: map[definition.Ref]*definition.Record{}}
}

// Position is the number and the time of the last commit.
func (r *Replay) Position() (number uint64, at int64) { return r.last.Number, r.last.Time }

// Names makes the names that the commits that follow refer to.
func (r *Replay) Names(n *changelog.Names) error {
	c := r.g.Catalog
	same := func(what, name string, have, want int, err error) error {
		if err != nil || have == want {
			return err
		}
		return fmt.Errorf("graph %s: its log has the %s %s as number %d, and the backup as number %d", r.g.Name, what, name, want, have)
	}
	for i, name := range n.Labels {
		id, err := c.NewLabel(name)
		if err = same("label", name, int(id), i+1, err); err != nil {
			return err
		}
	}
	for i, name := range n.Types {
		id, err := c.NewType(name)
		if err = same("type", name, int(id), i+1, err); err != nil {
			return err
		}
	}
	for i, name := range n.Props {
		id, err := c.NewProp(name)
		if err = same("property", name, int(id), i+1, err); err != nil {
			return err
		}
	}
	for i, labels := range n.Sets {
		id, err := c.NewLabelSet(labels)
		if err = same("label set", fmt.Sprint(labels), int(id), int(graph.NoLabels)+1+i, err); err != nil {
			return err
		}
	}
	return nil
}

// ReplayGapError is the error of a Replay that meets a commit from whose record a load has kept changes.
type ReplayGapError struct{ Commit uint64 }

func (e *ReplayGapError) Error() string {
	return fmt.Sprintf("a load has kept what it changed out of commit %d of the log", e.Commit)
}

// Add adds the next commit, whose memory it keeps.
func (r *Replay) Add(ctx context.Context, c *changelog.Commit) error {
	if c.Number != r.last.Number+1 || c.Time <= r.last.Time {
		return fmt.Errorf("graph %s: commit %d does not follow commit %d", r.g.Name, c.Number, r.last.Number)
	}
	var told []storage.SchemaChange
	skipped, err := c.Schema(func(b []byte) error {
		change, err := storage.ParseSchemaChange(b)
		told = append(told, change)
		return err
	})
	if err != nil {
		return err
	}
	if skipped {
		return &ReplayGapError{c.Number}
	}
	if len(told) > 0 {
		if err := r.flush(ctx); err != nil { // what came before keeps the constraints of before
			return err
		}
	}
	for i := range told {
		if err := r.define(&told[i]); err != nil {
			return err
		}
	}
	r.last.Number, r.last.Time = c.Number, c.Time
	ids := make([][2]uint64, len(r.g.shards)) // the next vertices and edges
	err = c.Each(func(ch *changelog.Change) error {
		ch.Tx = 0
		no, kind, id := ch.Vertex.Shard(), 0, ch.Vertex.Local()
		if ch.IsEdge {
			no, kind, id = ch.Edge.ID.Shard(), 1, ch.Edge.ID.Local()
		}
		if no >= len(ids) {
			return fmt.Errorf("graph %s: commit %d: %w", r.g.Name, c.Number, changelog.ErrRecord)
		}
		if ch.Op == changelog.Created {
			ids[no][kind] = max(ids[no][kind], id+1)
		}
		r.net.Add(ch)
		return nil
	})
	if err != nil {
		return err
	}
	for no, next := range ids {
		r.g.shards[no].ReserveIDs(next[0], next[1])
	}
	r.commits = append(r.commits, *c)
	r.commits[len(r.commits)-1].Records = slices.Clone(c.Records)
	for _, b := range c.Records {
		r.size += len(b)
	}
	if r.size > replayGroup || len(r.g.Expiries()) > 0 { // a commit has one time of writing
		return r.flush(ctx)
	}
	return nil
}

// define notes a change of the catalog. What it changes is dropped until the end.
func (r *Replay) define(c *storage.SchemaChange) error {
	if c.Define != nil {
		for i := range c.Define.Put {
			p := &c.Define.Put[i]
			r.puts[definition.Ref{Kind: p.Kind, Name: p.Name}] = p
		}
		for _, ref := range c.Define.Drop {
			r.puts[ref] = nil
		}
		return nil
	}
	ix := c.Put
	if ix == nil {
		ix = c.Drop
	}
	key := schemaKey(ix)
	for _, have := range index.All(r.g.Catalog) {
		if schemaKey(&have) != key {
			continue
		}
		r.g.writer <- struct{}{}
		err := r.g.removeIndex(have)
		if have.TTL > 0 {
			err = errors.Join(err, r.g.expirer.Refresh())
		}
		r.g.unlock()
		if err != nil {
			return err
		}
	}
	if r.order = slices.DeleteFunc(r.order, func(k string) bool { return k == key }); c.Put != nil {
		r.order = append(r.order, key)
	}
	r.schema[key] = c.Put
	return nil
}

// schemaKey names an index by what there is one of at a time.
func schemaKey(ix *graph.Index) string {
	if ix.TTL > 0 { // a new one over another property replaces it before it is gone
		return strings.Join([]string{"ttl", ix.Label, ix.Type, strings.Join(ix.Props, "\x00")}, "\x00")
	}
	return "index\x00" + ix.Name
}

// End makes the last commits, and the indexes and definitions as of the last one. The store can then be closed and served.
func (r *Replay) End(ctx context.Context) error {
	if err := r.flush(ctx); err != nil {
		return err
	}
	r.clock.now.Store(r.last.Time)
	for _, key := range r.order {
		ix := r.schema[key]
		var err error
		if ix.TTL > 0 {
			err = r.g.SetTTL(ctx, ttlOf(*ix))
		} else {
			err = r.g.CreateIndex(ctx, *ix)
		}
		if err != nil {
			return fmt.Errorf("graph %s: make the index or constraint %s again: %w", r.g.Name, ix.Name, err)
		}
	}
	var all definition.Change
	for ref, p := range r.puts {
		if p == nil {
			all.Drop = append(all.Drop, ref)
		} else {
			all.Put = append(all.Put, *p)
		}
	}
	if err := r.g.Define(ctx, all); err != nil {
		return err
	}
	for _, s := range r.g.shards {
		if err := s.KeepIDs(); err != nil {
			return err
		}
	}
	return nil
}

// flush commits the group.
func (r *Replay) flush(ctx context.Context) error {
	if len(r.commits) == 0 {
		return nil
	}
	r.clock.now.Store(r.last.Time)
	if err := r.g.lock(ctx); err != nil {
		return err
	}
	m, err := r.apply(ctx)
	defer func() { write.EndReplay(m) }()
	if err != nil {
		m.Discard()
		r.g.unlock()
		return fmt.Errorf("graph %s: commits %d to %d: %w", r.g.Name, r.commits[0].Number, r.last.Number, err)
	}
	info := r.info(true)
	if m.Empty() {
		m.Discard()
		err = storage.CommitReplayed(r.g.shards[0], info)
		if err == nil {
			r.g.log.Done(info)
			err = r.g.refresh()
		}
		r.g.unlock()
	} else {
		_, _, err = r.g.commit(&change{ws: m.Writers(), next: due{at: write.Never}, info: info})
	}
	r.commits, r.size = r.commits[:0], 0
	return err
}

// info is what a commit is: the whole group, or a part of it, which has the position of the last one.
func (r *Replay) info(whole bool) *storage.CommitInfo {
	was := r.g.log.Last()
	if !whole {
		return &storage.CommitInfo{LogPosition: was}
	}
	return &storage.CommitInfo{
		LogPosition: storage.LogPosition{Number: r.last.Number, Time: r.last.Time, Bytes: was.Bytes}, Logged: true, Replayed: r.commits,
		Ranges: r.g.log.Ranges(),
	}
}

// apply applies the net changes of the group: first what makes room for others, last what needs others. It returns the changes that are yet to
// be committed. The caller holds the writer's lock.
func (r *Replay) apply(ctx context.Context) (*write.Mutator, error) {
	all := r.net.Take()
	steps := make([][]shard.Mutation, 6)
	for i := range all {
		c := &all[i]
		switch {
		case c.Op == changelog.Deleted && c.IsEdge:
			steps[0] = append(steps[0], shard.Mutation{Op: shard.DeleteEdge, Edge: c.Edge})
		case c.Op == changelog.Deleted:
			steps[1] = append(steps[1], shard.Mutation{Op: shard.DeleteVertex, Vertex: c.Vertex})
		case c.Op == changelog.Created && c.IsEdge:
			steps[4] = append(steps[4], shard.Mutation{Op: shard.CreateEdge, Edge: c.Edge, Props: c.After.Props})
		case c.Op == changelog.Created:
			steps[3] = append(steps[3], shard.Mutation{Op: shard.CreateVertex, Vertex: c.Vertex, Labels: c.After.Labels, Props: c.After.Props})
		case c.IsEdge:
			steps[5] = append(steps[5], shard.Mutation{Op: shard.SetEdge, Edge: c.Edge, Props: differing(c)})
		default:
			if c.Before.Labels != c.After.Labels {
				steps[2] = append(steps[2], shard.Mutation{Op: shard.SetLabels, Vertex: c.Vertex, Labels: c.After.Labels})
			}
			if ps := differing(c); len(ps) > 0 {
				steps[2] = append(steps[2], shard.Mutation{Op: shard.SetVertex, Vertex: c.Vertex, Props: ps})
			}
		}
	}
	slices.SortFunc(steps[3], func(a, b shard.Mutation) int { return cmp.Compare(a.Vertex, b.Vertex) })
	for _, s := range [...][]shard.Mutation{steps[0], steps[4], steps[5]} {
		slices.SortFunc(s, func(a, b shard.Mutation) int {
			return cmp.Or(cmp.Compare(a.Edge.Type, b.Edge.Type), cmp.Compare(a.Edge.ID, b.Edge.ID))
		})
	}
	stamp := graph.IntValue(r.clock.Now().UnixMilli())
	m := write.BeginReplay(r.g.state(), stamp)
	for _, ms := range steps {
		for len(ms) > 0 {
			n := min(len(ms), 4096)
			if err := m.Apply(ctx, ms[:n]); err != nil {
				return m, err
			}
			ms = ms[n:]
			if m.Bytes() > replayBytes && m.KeepsUnique() {
				var err error
				if m, err = r.part(ctx, m, stamp); err != nil {
					return m, err
				}
			}
		}
	}
	return m, m.Verify(ctx)
}

// part commits a part of a group, and begins the next one.
func (r *Replay) part(ctx context.Context, m *write.Mutator, stamp graph.Value) (*write.Mutator, error) {
	if err := m.Verify(ctx); err != nil {
		return m, err
	}
	_, _, err := r.g.commit(&change{ws: m.Writers(), next: due{at: write.Never}, info: r.info(false)})
	write.EndReplay(m)
	r.g.writer <- struct{}{} // commit has released it, and nobody else is there
	return write.BeginReplay(r.g.state(), stamp), err
}

// differing returns the properties after a change that are not as before.
func differing(c *changelog.Change) []graph.Property {
	out := c.After.Props[:0]
	for i, p := range c.After.Props {
		if !changelog.Identical(p.Value, c.Before.Props[i].Value) {
			out = append(out, p)
		}
	}
	return out
}
