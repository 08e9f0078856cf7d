package main

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/backup"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/local/part"
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
	switch {
	case o.To == "" && o.Graph != "":
		return cli.Usagef("--to-graph goes with --to")
	case to.Replicas == 0 && *to != (cli.Member{}):
		return cli.Usagef("--processes, --process and --shards go with --replicas")
	case o.To == "":
		_, err := restoreFrom(cmd, r, o, o.Backup, nil)
		return err
	}
	t, err := newTarget(cmd, r, o)
	if err != nil {
		return err
	}
	ids, err := t.backups(ctx, o.Backup)
	if err != nil {
		return err
	}
	for i, id := range ids {
		m, err := restoreFrom(cmd, r, o, id, t)
		if !isGap(err) || i == len(ids)-1 {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "backup %s does not lead to the moment, trying the next one: %v\n", m.ID, err)
	}
	return nil
}

// restoreFrom restores one backup, and makes it what it was at a moment, if that is not nil.
func restoreFrom(cmd *cobra.Command, r *backup.Repo, o *cli.Restore, id string, t *target) (m *backup.Manifest, err error) {
	ctx, to := cmd.Context(), &o.Member
	if m, err = r.Manifest(ctx, id); err != nil {
		return nil, err
	}
	files := m
	var finish []func(dir string) error
	if t != nil {
		finish = append(finish, func(dir string) error { return t.apply(ctx, dir, m.Graphs) })
	}
	if to.Replicas != 0 {
		layout, err := layoutOf(to, m)
		if err != nil {
			return m, err
		}
		name := m.ID
		if t == nil {
			files = filesOf(to, m, layout)
		} else {
			finish = append(finish, func(dir string) error { return replicate(dir, to, layout) })
		}
		finish = append(finish, func(dir string) error {
			if t != nil { // shards of other moments are others
				name += " " + strings.Join(t.moments, " ")
			}
			return part.SeedReplicas(local.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)}, layout, to.Process, name)
		})
	}
	err = r.Restore(ctx, files, o.Dir, storage.FormatVersion, func(dir string) error {
		for _, f := range finish {
			if err := f(dir); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		return m, err
	}
	if t != nil {
		fmt.Fprint(cmd.OutOrStdout(), strings.Join(t.done, ""))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "restored backup %s of %s: %s, %s, to %s\n",
		m.ID, m.Taken.Format(time.RFC3339), size.Count(len(files.Files), "file"), size.Text(uint64(files.Bytes())), o.Dir)
	return m, nil
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
