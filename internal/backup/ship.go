package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hopgate/hopgate/internal/changelog"
)

// LogState is the state of the commit log of a graph.
type LogState struct {
	// ID is that of the graph; see changelog.GraphID.
	ID []byte
	// Off says that the graph keeps no log now.
	Off bool
	// First is the commit that precedes the log, Last the last one; AfterTime is the time of the one asked for, 0 if the log does not have it.
	First, Last Point
	AfterTime   int64
	Now         time.Time
}

// LogSource reads the commit logs of graphs: it calls begin with the state and, if after is not nil and the log has the commit of that number,
// pieces with whole commits that follow it and the names that they have. An error of these ends it.
type LogSource interface {
	ReadLog(ctx context.Context, graph string, after *uint64, begin func(LogState) error, pieces func(commits []byte, names changelog.Names) error) error
}

// Warning is something that a restore cannot cross, with a stable code.
type Warning struct{ Code, Text string }

// Round is what a round of a Shipper has done for a graph.
type Round struct {
	Graph    string
	Commits  uint64
	Bytes    int // of commits
	Segments int
	Last     Point
	AsOf     time.Time
	Warnings []Warning
}

// segmentBytes is the size of commits from which a segment ends.
const segmentBytes = 16 << 20

// Shipper copies the commit logs of graphs to a repository, from where the segments there end.
type Shipper struct {
	r    *Repo
	src  LogSource
	logs map[string]*Log // by ids
	off  map[string]bool // graphs whose log is known to be off, by ids
}

// NewShipper returns a shipper.
func NewShipper(r *Repo, src LogSource) *Shipper {
	return &Shipper{r: r, src: src, logs: map[string]*Log{}, off: map[string]bool{}}
}

// Ship ships all commits of a graph that there are by now. After an error, or a crash, the next round goes on where the last whole segment
// ends.
func (s *Shipper) Ship(ctx context.Context, name string) (Round, error) {
	round := Round{Graph: name}
	var st LogState
	err := s.src.ReadLog(ctx, name, nil, func(now LogState) error {
		st = now
		return nil
	}, nil)
	if err != nil {
		return round, err
	}
	id := string(st.ID)
	if st.Off {
		if !s.off[id] {
			s.off[id] = true
			round.warn("ChangeLogOff", "graph %s keeps no commit log, so nothing is shipped", name)
		}
		return round, nil
	}
	s.off[id] = false
	l := s.logs[id]
	if l == nil {
		if l, err = s.r.OpenLog(ctx, name, st.ID); err != nil {
			return round, err
		}
		s.logs[id] = l
	}
	if err := s.shipTo(ctx, l, st, &round); err != nil {
		delete(s.logs, id) // what was written is not known
		return round, err
	}
	return round, nil
}

func (r *Round) warn(code, format string, args ...any) {
	r.Warnings = append(r.Warnings, Warning{code, fmt.Sprintf(format, args...)})
}

func (s *Shipper) shipTo(ctx context.Context, l *Log, st LogState, round *Round) error {
	tip, ok := l.tip()
	branch, from := tip.branch, Point{tip.last, tip.time}
	switch {
	case !ok:
		branch, from = newBranch(st.Now), st.First
	case tip.last < st.First.Commit && tip.time < st.First.Time:
		gap := &Segment{
			Graph: l.graph, After: tip.last, AfterTime: tip.time, Last: st.First.Commit, LastTime: st.First.Time,
			Gap: "the commit log was cut, or was off, before they were shipped",
		}
		if err := l.add(ctx, branch, gap); err != nil {
			return err
		}
		round.warn(GapDetail, "graph %s: commits %d to %d are lost to restores: %s; back up the graph again", l.graph, gap.After+1, gap.Last, gap.Gap)
		from = st.First
	}
	w, err := s.follow(ctx, l, branch, from, &st, round)
	if errors.Is(err, errOtherHistory) {
		// The graph was restored to an earlier moment, and has gone on from there.
		w, err = s.follow(ctx, l, newBranch(st.Now), st.First, &st, round)
	}
	if err != nil {
		return err
	}
	round.Last, round.AsOf = w.end(), st.Now
	return l.setShipped(ctx, &Shipped{AsOf: st.Now, Last: round.Last.Commit, LastTime: round.Last.Time, Branch: w.branch})
}

// follow ships the commits that follow one to a branch, and notes in st when they were read.
func (s *Shipper) follow(ctx context.Context, l *Log, branch string, from Point, st *LogState, round *Round) (*segmentWriter, error) {
	w := &segmentWriter{ctx: ctx, l: l, round: round, branch: branch, next: Segment{Graph: l.graph, After: from.Commit, AfterTime: from.Time}}
	if from == st.Last {
		return w, nil
	}
	err := s.src.ReadLog(ctx, l.graph, &from.Commit, func(now LogState) error {
		switch {
		case string(now.ID) != string(st.ID):
			return fmt.Errorf("graph %s was dropped and made again meanwhile", l.graph)
		case from.Commit < now.First.Commit && from.Time < now.First.Time:
			return fmt.Errorf("graph %s: its commit log was cut meanwhile", l.graph)
		case now.AfterTime != from.Time:
			return errOtherHistory
		}
		st.Now = now.Now
		return nil
	}, w.add)
	if err == nil {
		err = w.flush()
	}
	return w, err
}

func newBranch(now time.Time) string { return fmt.Sprintf(branchForm, now.UnixNano()) }

// errOtherHistory says that the log of a graph does not go on from what was shipped.
var errOtherHistory = errors.New("another history")

// segmentWriter collects commits and writes segments.
type segmentWriter struct {
	ctx    context.Context
	l      *Log
	round  *Round
	branch string
	next   Segment
}

// add adds whole commits.
func (w *segmentWriter) add(commits []byte, names changelog.Names) error {
	var c changelog.Commit
	for rest := commits; len(rest) > 0; {
		before := rest
		var err error
		if rest, err = c.Read(rest); err != nil {
			return err
		}
		last := w.end()
		if c.Number != last.Commit+1 || c.Time <= last.Time {
			return errOtherHistory
		}
		skipped, err := c.Schema(func([]byte) error { return nil })
		if err != nil {
			return err
		}
		if skipped {
			w.round.warn(GapDetail, "graph %s: commit %d is a load that was kept out of the log; a restore cannot cross it; back up the graph again", w.l.graph, c.Number)
		}
		w.next.Commits = append(w.next.Commits, before[:len(before)-len(rest)]...)
		w.next.Last, w.next.LastTime = c.Number, c.Time
		w.round.Commits++
	}
	w.next.Names = names
	if len(w.next.Commits) >= segmentBytes {
		return w.flush()
	}
	return nil
}

// end is the last commit that was added, or the one before the first.
func (w *segmentWriter) end() Point {
	if w.next.Last == 0 {
		return Point{w.next.After, w.next.AfterTime}
	}
	return Point{w.next.Last, w.next.LastTime}
}

// flush writes what was collected.
func (w *segmentWriter) flush() error {
	if len(w.next.Commits) == 0 {
		return nil
	}
	if err := w.l.add(w.ctx, w.branch, &w.next); err != nil {
		return err
	}
	w.round.Bytes += len(w.next.Commits)
	w.round.Segments++
	end := w.end()
	w.next = Segment{Graph: w.l.graph, After: end.Commit, AfterTime: end.Time, Commits: w.next.Commits[:0]}
	return nil
}
