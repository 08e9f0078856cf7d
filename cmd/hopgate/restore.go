package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/backup"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/part"
	"github.com/hopgate/hopgate/internal/shard/past"
	"github.com/hopgate/hopgate/internal/size"
	"github.com/hopgate/hopgate/internal/storage"
)

// newRestore creates data directories from backups.
func newRestore() *cobra.Command {
	var r cli.Restore
	timeout := time.Duration(0)
	cmd := &cobra.Command{
		Use: "restore SRC --data-dir DIR", Short: "Create a data directory from a backup", Long: cli.RestoreHelp, Args: cobra.ExactArgs(1),
		RunE: interruptible(&timeout, func(cmd *cobra.Command, args []string) error { return restore(cmd, &r, args[0]) }),
	}
	r.Flags(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "time for the restore; 0 is no limit")
	return cmd
}

func restore(cmd *cobra.Command, o *cli.Restore, from string) error {
	ctx, to := cmd.Context(), &o.Member
	if o.Dir == "" {
		return cli.Usagef("restore: name an empty directory with --data-dir")
	}
	r, err := backup.Open(ctx, from, false)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	defer func() { _ = r.Close() }()
	m, err := r.Manifest(ctx, o.Backup)
	if err != nil {
		return err
	}
	var finish func(dir string) error
	switch {
	case o.To != "" && to.Replicas != 0:
		return cli.Usagef("--to: restores a single server; its directory becomes a process of a cluster by itself")
	case o.To == "" && o.Graph != "":
		return cli.Usagef("--to-graph goes with --to")
	case o.To != "":
		finish = func(dir string) error { return revert(cmd, dir, o, m.Graphs) }
	case to.Replicas != 0:
		layout, err := layoutOf(to, m)
		if err != nil {
			return err
		}
		m = filesOf(to, m, layout)
		finish = func(dir string) error {
			return part.SeedReplicas(local.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)}, layout, to.Process, m.ID)
		}
	case *to != (cli.Member{}):
		return cli.Usagef("--processes, --process and --shards go with --replicas")
	}
	if err := r.Restore(ctx, m, o.Dir, storage.FormatVersion, finish, nil); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "restored backup %s of %s: %d files, %s, to %s\n",
		m.ID, m.Taken.Format(time.RFC3339), len(m.Files), size.Text(uint64(m.Bytes())), o.Dir)
	return nil
}

// layoutOf returns the layout of the cluster that a backup is restored to.
func layoutOf(t *cli.Member, m *backup.Manifest) (l shard.Layout, err error) {
	l = shard.Layout{Processes: t.Processes, Shards: t.Shards, Replicas: t.Replicas}
	if l.Shards == 0 {
		l.Shards = m.Shards()
	}
	switch {
	case l.Replicas < 1 || l.Replicas > 7 || l.Replicas%2 == 0:
		return l, cli.Usagef("--replicas: must be 1, 3, 5 or 7, is %d", l.Replicas)
	case l.Processes < l.Replicas:
		return l, cli.Usagef("--processes: %d replicas need as many processes, and it is %d", l.Replicas, l.Processes)
	case t.Process < 0 || t.Process >= l.Processes:
		return l, cli.Usagef("--process: must be from 0 to %d, is %d", l.Processes-1, t.Process)
	case l.Shards < m.Shards():
		return l, cli.Usagef("--shards: the graphs of the backup have %d shards, and it is %d", m.Shards(), l.Shards)
	case l.Shards > storage.MaxShards:
		return l, cli.Usagef("--shards: must be at most %d, is %d", storage.MaxShards, l.Shards)
	}
	return l, nil
}

// filesOf returns the files of a backup that the process needs, in the directories of its replicas.
func filesOf(t *cli.Member, m *backup.Manifest, l shard.Layout) *backup.Manifest {
	out := *m
	out.Files = nil
	for no := range l.Shards {
		if !slices.Contains(l.Keepers(no), t.Process) {
			continue
		}
		if only, err := m.Only(storage.Dir("", no)); err == nil { // graphs may have fewer shards than the cluster
			out.Files = append(out.Files, only.Below(part.ReplicaDir(no)).Files...)
		}
	}
	return &out
}

// revert makes the graphs in a directory, or one of them, what they were at a moment.
func revert(cmd *cobra.Command, dir string, o *cli.Restore, graphs []string) (err error) {
	moment, err := asof.Parse("--to", o.To)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	if o.Graph != "" {
		graphs = []string{o.Graph}
	}
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
		commit, at, err := moment.Find(cmd.Context(), g)
		if err != nil {
			return fmt.Errorf("graph %s: %w", name, err)
		}
		done, err := past.Revert(cmd.Context(), g, commit)
		if err != nil {
			return fmt.Errorf("graph %s: %w", name, err)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "graph %s is as of commit %d, %s: %d vertices and %d edges undone\n",
			name, commit, time.Unix(0, at).UTC().Format(time.RFC3339Nano), done.Vertices, done.Edges)
	}
	return nil
}
