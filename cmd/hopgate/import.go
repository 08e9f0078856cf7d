package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// interruptible runs a command that does its work and ends: at the timeout, or when a signal asks for it.
func interruptible(timeout *time.Duration, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		code := cli.Interruptible(func(ctx context.Context) int {
			if *timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, *timeout)
				defer cancel()
			}
			cmd.SetContext(ctx)
			if err = run(cmd, args); err == nil {
				return 0
			}
			return cli.ExitCode(err)
		})
		if err != nil {
			err = cli.Error{Code: code, Err: err}
		}
		return err
	}
}

// newImport loads files into a data directory.
func newImport() *cobra.Command {
	var dir, graph string
	timeout := time.Duration(0)
	l := cli.Load{To: func(cmd *cobra.Command, l *cli.Load, plan *loader.Plan, o loader.Options) (*loader.Report, error) {
		o.Graph = graph
		return importInto(cmd.Context(), dir, l, plan, o, cmd.ErrOrStderr())
	}}
	cmd := &cobra.Command{
		Use:   "import MAPPING.yaml | DIR | FILES… --data-dir DIR",
		Short: "Load files into an empty graph of a data directory that no server has open",
		RunE: interruptible(&timeout, func(cmd *cobra.Command, args []string) error {
			if dir == "" {
				return cli.Usagef("import: name the data directory of a server that does not run with --data-dir")
			}
			if info, err := os.Stat(dir); err == nil && !info.IsDir() {
				return cli.Usagef("--data-dir %s is not a directory", dir)
			}
			return l.Run(cmd, args)
		}),
	}
	f := cmd.Flags()
	l.Flags(f)
	f.StringVar(&dir, "data-dir", "", "the data directory")
	f.StringVar(&graph, "graph", "default", "the graph")
	f.DurationVar(&timeout, "timeout", 0, "time for the load; 0 is no limit")
	return cmd
}

// importInto loads into a data directory without a server.
func importInto(ctx context.Context, dir string, l *cli.Load, plan *loader.Plan, o loader.Options, log io.Writer) (rep *loader.Report, err error) {
	memory := int64(l.Memory)
	f, err := local.OpenOffline(local.Options{
		Dir: dir, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		CacheBytes: memory / 64, TopologyBytes: -1, MemtableBytes: int(min(16<<20, max(1<<20, memory/64))),
		Tuning: local.Tuning{CompactRecords: -1},
	}, o.Graph, local.OfflineOptions{
		Memory: memory / 3, Workers: l.Workers,
		Progress: func(stage string) {
			if l.Progress == "plain" {
				fmt.Fprintln(log, stage)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if plan.Finds() {
		g, err := f.Store().Graph(o.Graph)
		if err != nil {
			return nil, err
		}
		plan.FindSpaces(g.Indexes())
	}
	return plan.Run(ctx, plan.NewOffline(loader.New(f.Store()), f), o)
}

// newCheck verifies data directories.
func newCheck() *cobra.Command {
	var dir, graph string
	timeout := time.Duration(0)
	c := cli.Check{Of: func(cmd *cobra.Command, c *cli.Check, progress func(string, uint64)) (*pb.CheckReport, error) {
		return checkDir(cmd.Context(), dir, graph, shard.CheckOptions{Repair: c.Repair, Progress: progress})
	}}
	cmd := &cobra.Command{
		Use: "check --data-dir DIR", Short: "Verify a graph of a data directory that no server has open", Args: cobra.NoArgs,
		RunE: interruptible(&timeout, func(cmd *cobra.Command, args []string) error {
			if _, err := os.Stat(filepath.Join(dir, "graphs")); err != nil {
				return cli.Usagef("--data-dir %s is not a data directory: %v", dir, err)
			}
			return c.Run(cmd, args)
		}),
	}
	c.Flags(cmd)
	f := cmd.Flags()
	f.StringVar(&dir, "data-dir", "", "the data directory")
	f.StringVar(&graph, "graph", "default", "the graph")
	f.DurationVar(&timeout, "timeout", 0, "time for the check; 0 is no limit")
	return cmd
}

// checkDir checks a data directory that no server has open.
func checkDir(ctx context.Context, dir, graph string, o shard.CheckOptions) (_ *pb.CheckReport, err error) {
	store, err := local.Open(local.Options{Dir: dir, Logger: slog.New(slog.DiscardHandler), Tuning: local.Tuning{CompactRecords: -1}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	rep, err := store.Check(ctx, graph, o)
	if err != nil {
		return nil, err
	}
	return wire.CheckReport(graph, rep), nil
}
