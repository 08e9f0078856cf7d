package backup

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
)

// GapDetail is the code of what cannot be restored, and of a warning of who ships a log.
const GapDetail = "ChangeLogGap"

// GapError is the error of who needs commits that are not there.
func GapError(name string, after, last uint64, why string) error {
	return &graph.Error{
		Kind: graph.KindNotFound, Code: "Neo.ClientError.ChangeDataCapture.InvalidIdentifier", Type: "ArgumentError", Phase: graph.PhaseRuntime, Detail: GapDetail,
		Msg: fmt.Sprintf("%s: graph %s: the commits from %d to %d were not shipped: %s; restore from a backup that was taken after them", GapDetail, name, after+1, last, why),
	}
}

// logDir is where the log of a graph lies.
func logDir(id []byte) string { return "log/" + hex.EncodeToString(id) + "/" }

// part is a segment by its name, below the directory of the graph:
//
//	BRANCH/AFTER-LAST-TIME.seg    or .gap
//
// A branch is a history of the graph, named by when it was begun: a graph that was restored has another one from then on.
type part struct {
	name        string
	branch      string
	after, last uint64
	time        int64 // of the last commit
	gap         bool
}

const branchForm = "%020d"

func (p *part) path(dir string) string {
	ext := ".seg"
	if p.gap {
		ext = ".gap"
	}
	return fmt.Sprintf("%s%s/%016x-%016x-%020d%s", dir, p.branch, p.after, p.last, p.time, ext)
}

// parsePart reads a name; ok is false if it is none.
func parsePart(dir, name string) (p part, ok bool) {
	rest, found := strings.CutPrefix(name, dir)
	branch, file := path.Split(rest)
	if !found || branch == "" {
		return p, false
	}
	p.name, p.branch = name, strings.TrimSuffix(branch, "/")
	var ext string
	if n, err := fmt.Sscanf(file, "%016x-%016x-%020d.%s", &p.after, &p.last, &p.time, &ext); err != nil || n != 4 {
		return p, false
	}
	p.gap = ext == "gap"
	return p, p.path(dir) == name && p.after < p.last
}

// Log is what a repository has of the commit log of a graph.
type Log struct {
	r     *Repo
	dir   string
	graph string
	parts []part // by branch, newest last, and by their commits
}

// Shipped is how far a log was shipped: all commits before AsOf are in it.
type Shipped struct {
	AsOf     time.Time `json:"asOf"`
	Last     uint64    `json:"last"`
	LastTime int64     `json:"lastTime"`
	Branch   string    `json:"branch"`
}

// OpenLog lists what there is of the log of a graph with an id; see changelog.GraphID.
func (r *Repo) OpenLog(ctx context.Context, name string, id []byte) (*Log, error) {
	l := &Log{r: r, dir: logDir(id), graph: name}
	err := r.list(ctx, l.dir, func(name string, _ int64) error {
		if p, ok := parsePart(l.dir, name); ok {
			l.parts = append(l.parts, p)
		}
		return nil
	})
	slices.SortFunc(l.parts, func(a, b part) int {
		return cmp.Or(strings.Compare(a.branch, b.branch), cmp.Compare(a.after, b.after), cmp.Compare(a.last, b.last))
	})
	return l, err
}

// Empty reports whether there is nothing.
func (l *Log) Empty() bool { return len(l.parts) == 0 }

// HasLogs reports whether the log of any graph is shipped to the repository.
func (r *Repo) HasLogs(ctx context.Context) (some bool, err error) {
	err = r.list(ctx, "log/", func(string, int64) error {
		some = true
		return nil
	})
	return some, err
}

// tip is the last commit of the newest branch; ok is false if there is none.
func (l *Log) tip() (p part, ok bool) {
	for _, q := range l.parts {
		if q.branch > p.branch || q.branch == p.branch && q.last > p.last {
			p, ok = q, true
		}
	}
	return p, ok
}

// add writes a segment to a branch.
func (l *Log) add(ctx context.Context, branch string, s *Segment) error {
	b, err := s.encode()
	if err != nil {
		return err
	}
	p := part{branch: branch, after: s.After, last: s.Last, time: s.LastTime, gap: s.Gap != ""}
	p.name = p.path(l.dir)
	err = l.r.write(ctx, p.name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	if err == nil {
		err = l.r.sync()
	}
	if err != nil {
		return err
	}
	l.parts = append(l.parts, p)
	return nil
}

// setShipped notes how far the log was shipped.
func (l *Log) setShipped(ctx context.Context, s *Shipped) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	err = l.r.write(ctx, l.dir+"shipped.json", func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	l.r.written = l.r.written[:0] // it is good enough if it lasts
	return err
}

// Shipped tells how far the log was shipped; it is zero if that is not known.
func (l *Log) Shipped(ctx context.Context) (s Shipped, err error) {
	b, err := l.r.bucket.ReadAll(ctx, l.dir+"shipped.json")
	if isNotFound(err) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%s: read %sshipped.json: %w", l.r.name, l.dir, err)
	}
	return s, nil
}

// read reads a segment.
func (l *Log) read(ctx context.Context, p *part) (*Segment, error) {
	b, err := l.r.bucket.ReadAll(ctx, p.name)
	var s *Segment
	if err == nil {
		s, err = decodeSegment(b)
	}
	if err == nil && (s.After != p.after || s.Last != p.last || s.LastTime != p.time || (s.Gap != "") != p.gap) {
		err = errSegment
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read %s: %w", l.r.name, p.name, err)
	}
	return s, nil
}

// find returns the segment of a branch that goes on furthest after a commit, nil if there is none.
func (l *Log) find(branch string, commit uint64, gap bool) (best *part) {
	for i := range l.parts {
		if p := &l.parts[i]; p.branch == branch && p.gap == gap && p.after <= commit && commit < p.last && (best == nil || p.last > best.last) {
			best = p
		}
	}
	return best
}

// has reports whether a branch has a commit of a time, or begins with what follows it.
func (l *Log) has(ctx context.Context, branch string, commit uint64, at int64) (bool, error) {
	for i := range l.parts {
		p := &l.parts[i]
		switch {
		case p.branch != branch || commit < p.after || commit > p.last || p.gap && commit != p.last:
			continue
		case commit == p.last:
			return p.time == at, nil
		}
		s, err := l.read(ctx, p)
		if err != nil {
			return false, err
		}
		if commit == s.After {
			return s.AfterTime == at, nil
		}
		var c changelog.Commit
		for rest := s.Commits; len(rest) > 0; {
			if rest, err = c.Read(rest); err != nil {
				return false, err
			}
			if c.Number == commit {
				return c.Time == at, nil
			}
		}
	}
	return false, nil
}

// Point is a commit: its number, and its time in nanoseconds since 1970.
type Point struct {
	Commit uint64
	Time   int64
}

// leg is a part of the way from a commit to the end of a branch: a branch, and the commit from which the next one goes on, 0 at the end.
type leg struct {
	branch string
	until  uint64
}

// branches returns the branches, oldest first.
func (l *Log) branches() (out []string) {
	for _, p := range l.parts {
		out = append(out, p.branch)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// route returns the way from a commit to the end of the last of some branches, nil if there is none. A branch begins with what the log of the
// graph still had, so what it had before may lie in the branch that it goes on from.
func (l *Log) route(ctx context.Context, branches []string, from Point) ([]leg, error) {
	branch := branches[len(branches)-1]
	if ok, err := l.has(ctx, branch, from.Commit, from.Time); err != nil || ok {
		return []leg{{branch: branch}}, err
	}
	first := l.first(branch)
	if first.after <= from.Commit {
		return nil, nil
	}
	s, err := l.read(ctx, first)
	if err != nil {
		return nil, err
	}
	for i := len(branches) - 1; i > 0; i-- {
		ok, err := l.has(ctx, branches[i-1], s.After, s.AfterTime)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		legs, err := l.route(ctx, branches[:i], from)
		if err != nil || legs == nil {
			return nil, err
		}
		legs[len(legs)-1].until = s.After
		return append(legs, leg{branch: branch}), nil
	}
	return nil, nil
}

// first returns the first segment of a branch.
func (l *Log) first(branch string) *part {
	at := slices.IndexFunc(l.parts, func(p part) bool { return p.branch == branch })
	first := &l.parts[at]
	for i := range l.parts {
		if p := &l.parts[i]; p.branch == branch && p.after < first.after {
			first = p
		}
	}
	return first
}

// passes reports whether a way has a commit.
func (l *Log) passes(ctx context.Context, legs []leg, p Point) (bool, error) {
	for _, g := range legs {
		if g.until != 0 && p.Commit > g.until {
			continue
		}
		if ok, err := l.has(ctx, g.branch, p.Commit, p.Time); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// Read calls names and then commit with all that follows a commit, until commit returns false or nothing follows. Of several histories it takes
// the newest one that has the commit, and also through, if that is not nil; it returns whether there is one. Commits that are not there, before
// others that are, are an error with GapDetail.
func (l *Log) Read(ctx context.Context, from Point, through *Point, names func(*changelog.Names) error, commit func(*changelog.Commit) (bool, error)) (ok bool, err error) {
	for all := l.branches(); len(all) > 0; all = all[:len(all)-1] {
		legs, err := l.route(ctx, all, from)
		ok := legs != nil
		if err == nil && ok && through != nil {
			ok, err = l.passes(ctx, legs, *through)
		}
		if err != nil {
			return false, err
		}
		if ok {
			return true, l.follow(ctx, legs, from.Commit, names, commit)
		}
	}
	return false, nil
}

// follow reads the commits of a way that follow one.
func (l *Log) follow(ctx context.Context, legs []leg, at uint64, names func(*changelog.Names) error, commit func(*changelog.Commit) (bool, error)) error {
	for {
		for legs[0].until != 0 && at >= legs[0].until {
			legs = legs[1:]
		}
		p := l.find(legs[0].branch, at, false)
		if p == nil {
			return l.end(ctx, legs[0].branch, at)
		}
		s, err := l.read(ctx, p)
		if err != nil {
			return err
		}
		if err := names(&s.Names); err != nil {
			return err
		}
		for rest := s.Commits; len(rest) > 0; {
			c := &changelog.Commit{}
			if rest, err = c.Read(rest); err != nil {
				return err
			}
			if c.Number <= at {
				continue
			}
			if legs[0].until != 0 && c.Number > legs[0].until {
				break
			}
			if more, err := commit(c); err != nil || !more {
				return err
			}
			at = c.Number
		}
	}
}

// end says why nothing follows a commit: the end of the branch is no error.
func (l *Log) end(ctx context.Context, branch string, at uint64) error {
	next := part{}
	for _, p := range l.parts {
		if p.branch == branch && p.last > at && (next.name == "" || p.after < next.after) {
			next = p
		}
	}
	if next.name == "" {
		return nil
	}
	s, err := l.read(ctx, &next)
	if err != nil {
		return err
	}
	why, last := s.Gap, s.Last
	if why == "" {
		why, last = "a segment is missing", s.After
	}
	return GapError(l.graph, at, last, why)
}

// pruneLogs removes the segments that no backup since a time needs, and returns their number and size.
func (r *Repo) pruneLogs(ctx context.Context, before time.Time) (files int, bytes int64, err error) {
	// A clock that was set back makes commits seem later than they were.
	oldest := before.Add(-time.Hour).UnixNano()
	err = r.list(ctx, "log/", func(name string, size int64) error {
		dir, ok := strings.CutPrefix(name, "log/")
		id, _, found := strings.Cut(dir, "/")
		p, isPart := parsePart("log/"+id+"/", name)
		if !ok || !found || !isPart || p.time >= oldest {
			return nil
		}
		files, bytes = files+1, bytes+size
		return r.remove(ctx, name)
	})
	return files, bytes, err
}
