package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/backup"
	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/shard/past"
	"github.com/hopgate/hopgate/internal/size"
	"github.com/hopgate/hopgate/internal/storage"
)

// latest is the moment of the last commit that there is.
const latest = "latest"

// target is the moment that graphs are restored to.
type target struct {
	out    io.Writer
	warn   io.Writer
	r      *backup.Repo
	graph  string       // the only one, or ""
	moment *asof.Moment // nil: the last commit
	// replicas says that processes of a cluster each make the same, so nothing may be undone: that chooses new ids.
	replicas bool
	// done tells the graphs' moments, and moments names them.
	done, moments []string
}

func newTarget(cmd *cobra.Command, r *backup.Repo, o *cli.Restore) (*target, error) {
	t := &target{out: cmd.OutOrStdout(), warn: cmd.ErrOrStderr(), r: r, graph: o.Graph, replicas: o.Member.Replicas != 0}
	if o.To == latest {
		return t, nil
	}
	var err error
	if t.moment, err = asof.Parse("--to", o.To); err != nil {
		return nil, cli.Error{Code: cli.Usage, Err: err}
	}
	return t, nil
}

// time is that of the moment, as it says itself.
func (t *target) time() (int64, error) {
	if t.moment == nil {
		return math.MaxInt64, nil
	}
	return t.moment.Time()
}

// backups returns the backups to try: the one that is named; else, where logs are shipped, the newest one before the moment, from which commits
// are made again, then those after it, from which they are undone; else the newest.
func (t *target) backups(ctx context.Context, named string) ([]string, error) {
	if named != "" {
		return []string{named}, nil
	}
	if t.moment != nil && t.moment.Defined() {
		return []string{""}, nil // the newest one has the snapshots that there are
	}
	shipped, err := t.r.HasLogs(ctx)
	if err != nil || !shipped {
		return []string{""}, err
	}
	at, err := t.time()
	if err != nil {
		return nil, cli.Error{Code: cli.Usage, Err: err}
	}
	ids, err := t.r.IDs(ctx)
	if err != nil || len(ids) == 0 {
		return []string{""}, err
	}
	first := 0
	for i, id := range ids {
		m, err := t.r.Manifest(ctx, id)
		if err != nil {
			return nil, err
		}
		if m.Taken.UnixNano() <= at {
			first = i
		}
	}
	return ids[first:], nil
}

// apply makes the graphs in a directory what they were at the moment.
func (t *target) apply(ctx context.Context, dir string, graphs []string) error {
	if t.graph != "" {
		graphs = []string{t.graph}
	}
	t.done, t.moments = nil, nil
	undo, err := t.forward(ctx, dir, graphs)
	if err != nil || len(undo) == 0 {
		return err
	}
	if t.replicas {
		return fmt.Errorf("graph %s: the backup is later than the moment, and a cluster's processes cannot undo commits alike; name an earlier one with --backup", undo[0])
	}
	return t.back(ctx, dir, undo)
}

// forward makes commits again that were shipped after a backup, and returns the graphs whose moment lies before it.
func (t *target) forward(ctx context.Context, dir string, graphs []string) (undo []string, err error) {
	var clock local.ReplayClock
	opts := local.ReplayOptions(dir, &clock)
	opts.Logger = slog.New(slog.DiscardHandler)
	s, err := local.Open(opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close(), os.Remove(filepath.Join(dir, datadir.LockName))) }()
	for _, name := range graphs {
		g, err := s.Local(name)
		if err != nil {
			return nil, err
		}
		back, err := t.forwardGraph(ctx, g, &clock)
		if err != nil {
			return nil, err
		}
		if back {
			undo = append(undo, name)
		}
	}
	return undo, nil
}

// forwardGraph makes the commits of one graph again; back says that its moment lies before the backup, or that the log does not go on from it.
func (t *target) forwardGraph(ctx context.Context, g *local.Graph, clock *local.ReplayClock) (back bool, err error) {
	st, err := g.ChangeLog().LogState(ctx)
	if err != nil {
		return false, err
	}
	through, at := (*backup.Point)(nil), int64(math.MaxInt64)
	if t.moment != nil && t.moment.Defined() { // a snapshot that the backup has lies before it
		commit, moment, err := t.moment.Find(ctx, g)
		if err != nil {
			return false, fmt.Errorf("graph %s: %w", g.Name, err)
		}
		if commit == st.Last {
			t.reached(g.Name, commit, moment, "")
		}
		return commit != st.Last, nil
	}
	if t.moment != nil {
		commit, moment, exact, err := t.moment.Names(st.Key)
		if err != nil {
			return false, fmt.Errorf("graph %s: %w", g.Name, err)
		}
		if at = moment; exact {
			through = &backup.Point{Commit: commit, Time: moment}
		}
		switch {
		case exact && commit == st.Last && moment == st.LastTime:
			t.reached(g.Name, commit, moment, "")
			return false, nil
		case st.Last > 0 && (exact && commit <= st.Last || !exact && moment < st.LastTime):
			return true, nil
		}
	}
	l, err := t.r.OpenLog(ctx, g.Name, changelog.GraphID(st.Key))
	if err != nil {
		return false, err
	}
	if l.Empty() {
		return t.moment != nil, nil // nothing was shipped: the backup has all
	}
	begin := time.Now()
	r := local.NewReplay(g, clock)
	commits := 0
	ok, err := l.Read(ctx, backup.Point{Commit: st.Last, Time: st.LastTime}, through, r.Names, func(c *changelog.Commit) (bool, error) {
		if c.Time > at {
			return false, nil
		}
		commits++
		err := r.Add(ctx, c)
		if gap := (*local.ReplayGapError)(nil); errors.As(err, &gap) {
			err = backup.GapError(g.Name, c.Number-1, c.Number, "a load was kept out of the log")
		}
		return c.Time < at, err
	})
	if err == nil {
		err = r.End(ctx)
	}
	if err != nil {
		return false, err
	}
	number, reached := r.Position()
	switch {
	case !ok:
		return t.moment != nil, nil // the backup is later than all that was shipped, or of another history
	case through != nil && number != through.Commit:
		return false, fmt.Errorf("graph %s: commit %d of the token was not shipped", g.Name, through.Commit)
	}
	if err := t.warnLate(ctx, l, g.Name, at); err != nil {
		return false, err
	}
	took := time.Since(begin)
	t.reached(g.Name, number, reached, fmt.Sprintf(": %d commits made again in %v, %.0f commits/s",
		commits, took.Round(time.Millisecond), float64(commits)/max(took.Seconds(), 1e-3)))
	return false, nil
}

// reached notes what a graph is as of.
func (t *target) reached(name string, commit uint64, at int64, how string) {
	t.moments = append(t.moments, fmt.Sprintf("%s:%d", name, commit))
	t.say("graph %s is as of commit %d, %s%s\n", name, commit, time.Unix(0, at).UTC().Format(time.RFC3339Nano), how)
}

// warnLate warns that the moment is later than what was shipped.
func (t *target) warnLate(ctx context.Context, l *backup.Log, name string, at int64) error {
	if t.moment == nil {
		return nil
	}
	s, err := l.Shipped(ctx)
	if err == nil && at > max(s.AsOf.UnixNano(), s.LastTime) {
		fmt.Fprintf(t.warn, "warning: the log of graph %s was shipped up to %s; later commits are not there\n", name, s.AsOf.UTC().Format(time.RFC3339Nano))
	}
	return err
}

func (t *target) say(format string, args ...any) {
	t.done = append(t.done, fmt.Sprintf(format, args...))
}

// back undoes what graphs have since the moment.
func (t *target) back(ctx context.Context, dir string, graphs []string) (err error) {
	// The log keeps all that it has, and what is undone.
	s, err := local.Open(local.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler), LogBytes: math.MaxInt64})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), os.Remove(filepath.Join(dir, datadir.LockName))) }()
	for _, name := range graphs {
		g, err := s.Graph(name)
		if err != nil {
			return err
		}
		commit, at, err := t.moment.Find(ctx, g)
		if err != nil {
			return fmt.Errorf("graph %s: %w", name, err)
		}
		done, err := past.Revert(ctx, g, commit)
		if err != nil {
			return fmt.Errorf("graph %s: %w", name, err)
		}
		t.say("graph %s is as of commit %d, %s: undone: %s, %s\n", name, commit, time.Unix(0, at).UTC().Format(time.RFC3339Nano),
			size.Count(done.Vertices, "vertex"), size.Count(done.Edges, "edge"))
	}
	return nil
}

// replicate turns the graphs in a directory into the replicas that a process keeps of their shards.
func replicate(dir string, to *cli.Member, l shard.Layout) error {
	graphs := filepath.Join(dir, "graphs")
	names, err := os.ReadDir(graphs)
	if err != nil {
		return err
	}
	for no := range l.Shards {
		if !slices.Contains(l.Keepers(no), to.Process) {
			continue
		}
		for _, name := range names {
			if err := replicateShard(filepath.Join(graphs, name.Name()), filepath.Join(dir, part.ReplicaDir(no), "graphs", name.Name()), storage.Dir("", no)); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(graphs)
}

// replicateShard moves a shard of a graph, and copies the files beside the shards. Graphs may have fewer shards than the cluster.
func replicateShard(from, to, name string) error {
	if _, err := os.Stat(filepath.Join(from, name)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, f.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, f.Name()), b, 0o644) //nolint:gosec // the names are those of the directory that was just restored
		}
		if err != nil {
			return err
		}
	}
	return os.Rename(filepath.Join(from, name), filepath.Join(to, name))
}

// isGap reports whether a restore cannot cross commits that are not there.
func isGap(err error) bool {
	e := (*graph.Error)(nil)
	return errors.As(err, &e) && strings.HasPrefix(e.Detail, "ChangeLog")
}
