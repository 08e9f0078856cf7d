package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// loadOffline loads into a data directory without a server.
func (a *app) loadOffline(ctx context.Context, l *loadFlags, plan *loader.Plan, o loader.Options, log io.Writer) (rep *loader.Report, err error) {
	memory := int64(l.memory)
	f, err := local.OpenOffline(local.Options{
		Dir: l.dataDir, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		CacheBytes: memory / 64, TopologyBytes: -1, MemtableBytes: int(min(16<<20, max(1<<20, memory/64))),
		Tuning: local.Tuning{CompactRecords: -1},
	}, a.graph, local.OfflineOptions{
		Memory: memory / 3, Workers: l.workers,
		Progress: func(stage string) {
			if l.progress == "plain" {
				fmt.Fprintln(log, stage)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if plan.Finds() {
		g, err := f.Store().Graph(a.graph)
		if err != nil {
			return nil, err
		}
		plan.FindSpaces(g.Indexes())
	}
	return plan.Run(ctx, plan.NewOffline(loader.New(f.Store()), f), o)
}

// checkOffline returns an error for invalid flags of an offline load.
func (l *loadFlags) checkOffline() error {
	switch {
	case !l.offline && l.dataDir == "":
		return nil
	case !l.offline:
		return usagef("--data-dir goes with --offline")
	case l.dataDir == "":
		return usagef("--offline needs --data-dir, the data directory of a server that does not run")
	case l.dryRun:
		return usagef("--dry-run and --offline: a dry run writes nothing; leave --offline out")
	}
	if info, err := os.Stat(l.dataDir); err == nil && !info.IsDir() {
		return usagef("--data-dir %s is not a directory", l.dataDir)
	}
	return nil
}
