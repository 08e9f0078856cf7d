package storage

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// The values of a load's new vertices are not in the log: it has ranges of ids, see changelog.Range. A commit that changes or deletes such a
// vertex later has the values of before in its own record, and notes its number at the range, in the same batch. So who reads the record of the
// load takes the values of the graph, in the snapshot in which it reads, and those of before from the commits that the range names there.
//
//	made, made      the ranges of the commit
//	made, commit    nothing: this commit has changed vertices of them

// LogRanges are the ranges of a graph's log. It is safe for concurrent use.
type LogRanges struct {
	mu  sync.RWMutex
	all []logRange // in the order of their vertices
}

type logRange struct {
	changelog.Range
	commit uint64
}

// Open reads the ranges of the commits after one.
func (l *LogRanges) Open(shards []*Shard, after uint64) error {
	for _, s := range shards {
		lower, upper := keys.AppendLogRange(nil, after+1, 0), []byte{byte(keys.LogRange) + 1}
		it, err := kv.NewIter(s.graph.Live(), &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			return err
		}
		for ok := it.First(); ok && err == nil; {
			made, commit, known := keys.ReadLogRange(it.Key())
			var b []byte
			if b, err = it.ValueAndErr(); err == nil && known && made == commit {
				err = l.read(made, b)
			}
			if !known || errors.Is(err, changelog.ErrRecord) {
				err = kv.Corrupt("range of the commit log", it.Key(), changelog.ErrRecord)
			}
			ok = it.SeekGE(keys.AppendLogRange(nil, made+1, 0))
		}
		if err := errors.Join(err, it.Error(), it.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (l *LogRanges) read(made uint64, b []byte) error {
	ranges, err := changelog.ReadRanges(b)
	l.add(made, ranges)
	return err
}

func (l *LogRanges) add(made uint64, ranges []changelog.Range) {
	if len(ranges) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range ranges {
		at := len(l.all)
		if at > 0 && l.all[at-1].First > r.First {
			at, _ = slices.BinarySearchFunc(l.all, r.First, compareFirst)
		}
		l.all = slices.Insert(l.all, at, logRange{r, made})
	}
}

func compareFirst(r logRange, v graph.VertexID) int { return cmp.Compare(r.First, v) }

// Cut forgets the ranges of all commits up to one.
func (l *LogRanges) Cut(upTo uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(r logRange) bool { return r.commit <= upTo })
}

// Commits are the commits that have ranges, in ascending order.
func (l *LogRanges) Commits() []uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var out []uint64
	for _, r := range l.all {
		out = append(out, r.commit)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// made adds the commit that has made a vertex to commits, if it lies in a range and its commit is not there.
func (l *LogRanges) made(commits []uint64, v graph.VertexID) []uint64 {
	at, ok := slices.BinarySearchFunc(l.all, v, compareFirst)
	if !ok {
		at--
	}
	if at < 0 || uint64(v-l.all[at].First) >= uint64(l.all[at].N) {
		return commits
	}
	// The vertices of a commit's changes are often of one load.
	c := l.all[at].commit
	if n := len(commits); n > 0 && commits[n-1] == c {
		return commits
	}
	if at, ok := slices.BinarySearch(commits, c); !ok {
		return slices.Insert(commits, at, c)
	}
	return commits
}

// note notes a commit at the ranges of the vertices that old tells of.
func (l *LogRanges) note(b *pebble.Batch, commit uint64, old func(func(graph.VertexID)) error) error {
	if l == nil {
		return nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.all) == 0 {
		return nil
	}
	var commits []uint64
	if err := old(func(v graph.VertexID) { commits = l.made(commits, v) }); err != nil {
		return err
	}
	for _, made := range commits {
		if err := b.Set(keys.AppendLogRange(nil, made, commit), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// LogChanged returns the later commits that have changed vertices of the ranges of one, in ascending order.
func LogChanged(views []*view.View, made uint64) (commits []uint64, err error) {
	for _, v := range views {
		it, err := kv.NewIter(v.Graph(), &pebble.IterOptions{
			LowerBound: keys.AppendLogRange(nil, made, made+1), UpperBound: keys.AppendLogRange(nil, made+1, 0),
		})
		if err != nil {
			return nil, err
		}
		for ok := it.First(); ok; ok = it.Next() {
			_, commit, _ := keys.ReadLogRange(it.Key())
			commits = append(commits, commit)
		}
		if err := errors.Join(it.Error(), it.Close()); err != nil {
			return nil, err
		}
	}
	slices.Sort(commits)
	return slices.Compact(commits), nil
}

// ReplaceLog replaces the record of a commit in the shard, durably; it returns how many bytes more it has.
func (s *Shard) ReplaceLog(c *changelog.Commit, was []int) (more int, err error) {
	err = s.put(func(b *pebble.Batch) error {
		var errs []error
		for part, record := range c.Records {
			more += keys.LogSize + len(record)
			errs = append(errs, b.Set(keys.AppendLog(nil, c.Number, part), record, nil))
		}
		for part, size := range was {
			more -= keys.LogSize + size
			if part >= len(c.Records) {
				errs = append(errs, b.Delete(keys.AppendLog(nil, c.Number, part), nil))
			}
		}
		return errors.Join(errs...)
	})
	return more, err
}

// DropLogRanges deletes the ranges of all commits, durably. No record may refer to them.
func DropLogRanges(shards []*Shard) error {
	lower, upper := keys.Bounds(keys.LogRange)
	for _, s := range shards {
		if err := s.put(func(b *pebble.Batch) error { return b.DeleteRange(lower, upper, nil) }); err != nil {
			return err
		}
	}
	return nil
}
