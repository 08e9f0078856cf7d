package commitlog

import (
	"context"
	"errors"
	"slices"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/read"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// expand fills in what the record of a commit leaves to the graph: the values of the vertices of its ranges, as they are in a snapshot or, where
// later commits have changed them, as these have found them.
func (l *Log) expand(ctx context.Context, snap *read.Snapshot, c *changelog.Commit) error {
	if !c.Ranged() {
		return nil
	}
	old := map[graph.VertexID][]graph.Property{}
	if err := befores(snap.Views, c, old); err != nil {
		return err
	}
	if err := l.on.Enter(); err != nil {
		return err
	}
	r := read.NewReader(l.on, snap, nil, func() {})
	defer r.Rollback()
	r.Plain()
	return c.Expand(func(of changelog.Range, props []graph.PropID) ([][]graph.Value, error) {
		ids := make([]graph.VertexID, of.N)
		for i := range ids {
			ids[i] = of.First + graph.VertexID(i)
		}
		cols := shard.Columns(len(props), of.N)
		if err := r.Properties(ctx, ids, props, cols); err != nil {
			return nil, err
		}
		for i, id := range ids {
			for _, p := range old[id] {
				if at, ok := slices.BinarySearch(props, p.ID); ok {
					cols[at][i] = p.Value
				}
			}
		}
		return cols, nil
	})
}

// befores collects the properties that the vertices of a commit's ranges had before they were first changed, if they were.
func befores(views []*view.View, c *changelog.Commit, old map[graph.VertexID][]graph.Property) error {
	ranges, err := c.Ranges()
	if err != nil {
		return err
	}
	collect := func(ch *changelog.Change) error {
		if ch.IsEdge || ch.Op != changelog.Changed && ch.Op != changelog.Deleted {
			return nil
		}
		if slices.ContainsFunc(ranges, func(r changelog.Range) bool { return uint64(ch.Vertex-r.First) < uint64(r.N) }) {
			old[ch.Vertex] = changelog.Overlay(slices.Clone(ch.Before.Props), old[ch.Vertex])
		}
		return nil
	}
	if err := c.EachChange(collect); err != nil {
		return err
	}
	later, err := storage.LogChanged(views, c.Number)
	if err != nil {
		return err
	}
	for _, number := range later {
		cur, err := storage.ReadLog(views, number-1, number)
		if err != nil {
			return err
		}
		next, err := cur.Next()
		if err == nil && next != nil {
			err = next.EachChange(collect)
		}
		if err := errors.Join(err, cur.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Unfold writes the values of all ranges to the log, so that changes of their vertices need not be in it. The caller holds the writer's lock.
func (l *Log) Unfold(ctx context.Context) error {
	commits := l.ranges.Commits()
	if len(commits) == 0 || l.Mode() == changelog.Off {
		return nil
	}
	if err := l.AwaitLog(ctx, l.last.Number-1); err != nil {
		return err
	}
	snap, release := l.g.Newest()
	defer release()
	for _, number := range commits {
		for no, s := range l.shards {
			if err := l.unfold(ctx, snap, number, no, s); err != nil {
				return err
			}
		}
	}
	l.ranges.Cut(l.last.Number)
	return storage.DropLogRanges(l.shards)
}

// unfold rewrites the record of a commit in one shard.
func (l *Log) unfold(ctx context.Context, snap *read.Snapshot, number uint64, no int, s *storage.Shard) error {
	cur, err := storage.ReadLog(snap.Views[no:no+1], number-1, number)
	if err != nil {
		return err
	}
	c, err := cur.Next()
	if err = errors.Join(err, cur.Close()); err != nil || c == nil || !c.Ranged() {
		return err
	}
	var was []int
	for _, b := range c.Records {
		was = append(was, len(b))
	}
	if err := l.expand(ctx, snap, c); err != nil {
		return err
	}
	more, err := s.ReplaceLog(c, was)
	if err != nil {
		return err
	}
	l.last.Bytes += uint64(more)
	l.mu.Lock()
	l.bytes = l.last.Bytes
	l.mu.Unlock()
	return nil
}
