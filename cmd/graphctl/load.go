package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/config"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/loader/mapping"
)

// outsideHeap is about the memory of a load apart from the Go heap and a tenth of the limit: pages of the program itself.
const outsideHeap = 64 << 20

// gcPercent bounds the garbage of a load, in percent of its live heap.
const gcPercent = 400

// loadFlags are the flags of load.
type loadFlags struct {
	asks                              func() bool // whether a user can answer questions; nil checks for a terminal
	dir, rejectsDir, report, progress string
	admin                             string
	maxRejects, idType, dataDir       string
	nodes, relationships              []string
	workers                           int
	memory                            config.Bytes
	dryRun, restart, offline, init    bool
}

func newLoad(a *app) *cobra.Command {
	l := loadFlags{memory: 512 << 20}
	cmd := &cobra.Command{
		Use:   "load MAPPING.yaml | DIR | FILES…",
		Short: "Load files: by a mapping, or CSV with neo4j-admin headers",
		RunE:  func(cmd *cobra.Command, args []string) error { return a.load(cmd, &l, args) },
	}
	f := cmd.Flags()
	f.StringVar(&l.dir, "dir", "", "base of the mapping's relative paths (default: the mapping's folder)")
	f.IntVar(&l.workers, "workers", 0, "number of parsers; 0 is one for each processor")
	f.Var(&l.memory, "memory", "memory of the load, in bytes or such as 512MiB")
	f.BoolVar(&l.dryRun, "dry-run", false, "parse and check everything, write nothing")
	f.BoolVar(&l.restart, "restart", false, "start over instead of continuing an earlier run of this load")
	f.StringVar(&l.maxRejects, "max-rejects", "0", "refused rows after which the load ends: a number, or P% of all rows")
	f.StringVar(&l.rejectsDir, "rejects-dir", "", "directory for refused rows")
	f.StringVar(&l.report, "report", "", "file for the report, as JSON")
	f.StringVar(&l.admin, "admin", "", "address for the load's metrics and profiles, such as 127.0.0.1:6061")
	f.StringVar(&l.progress, "progress", "auto", "auto: on a terminal; plain: as lines; none")
	f.StringArrayVar(&l.nodes, "nodes", nil, "[LABEL[:LABEL]…=]FILE[,FILE]…, as for neo4j-admin import; may be repeated")
	f.StringArrayVar(&l.relationships, "relationships", nil, "[TYPE=]FILE[,FILE]…, as for neo4j-admin import; may be repeated")
	f.StringVar(&l.idType, "id-type", "string", "string or integer: type of the ids whose neo4j-admin headers name none")
	f.BoolVar(&l.offline, "offline", false, "load into a data directory without a server")
	f.BoolVar(&l.init, "init", false, "load nothing: print a mapping proposed for the files, which loads as it is")
	f.StringVar(&l.dataDir, "data-dir", "", "the data directory of --offline")
	return cmd
}

// load runs a load against the server.
func (a *app) load(cmd *cobra.Command, l *loadFlags, args []string) (err error) {
	if l.init {
		return l.propose(cmd, args)
	}
	if err := l.checkOffline(); err != nil {
		return err
	}
	budget, err := parseBudget(l.maxRejects)
	if err != nil {
		return err
	}
	show, err := newProgress(l.progress, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if l.memory < 16<<20 {
		return usagef("--memory: must be at least 16MiB")
	}
	plan, err := l.plan(cmd, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(max(int64(l.memory)/2, int64(l.memory)*9/10-outsideHeap))
	}
	if os.Getenv("GOGC") == "" {
		// Memory up to the limit is free to use.
		debug.SetGCPercent(gcPercent)
	}
	if l.workers == 0 {
		l.workers = runtime.GOMAXPROCS(0)
	}
	o := loader.Options{
		Graph: a.graph, Restart: l.restart, Workers: l.workers, Memory: int64(l.memory), MaxRejects: budget, RejectsDir: l.rejectsDir,
		OnReject: show.reject, Progress: show.update,
	}
	stop, err := serveAdmin(cmd.Context(), l.admin, plan, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	var rep *loader.Report
	if l.offline {
		rep, err = a.loadOffline(cmd.Context(), l, plan, o, cmd.ErrOrStderr())
	} else {
		rep, err = a.loadOnline(cmd.Context(), l, plan, o)
	}
	show.end()
	var tooMany *loader.TooManyRejectsError
	if err != nil && !errors.As(err, &tooMany) {
		return err
	}
	if l.report != "" {
		text, err := rep.JSON()
		if err == nil {
			err = os.WriteFile(l.report, append(text, '\n'), 0o666)
		}
		if err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	printReport(cmd.OutOrStdout(), rep)
	switch {
	case err != nil:
		return exitError{exitRejects, fmt.Errorf("%w; %s", err, l.where(rep.Rejects))}
	case rep.Rejects > 0:
		return exitError{exitRejects, fmt.Errorf("finished, but %d rows were refused; %s", rep.Rejects, l.where(rep.Rejects))}
	}
	return nil
}

// loadOnline loads through a server.
func (a *app) loadOnline(ctx context.Context, l *loadFlags, plan *loader.Plan, o loader.Options) (*loader.Report, error) {
	conn, ctx, cancel, err := a.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer conn.Close()
	if plan.Finds() {
		if err := a.findSpaces(ctx, conn, plan); err != nil {
			return nil, err
		}
	}
	if l.dryRun {
		return plan.DryRun(ctx, o, a.resolver(conn))
	}
	return plan.Run(ctx, newGRPCSink(conn), o)
}

// where describes where refused rows are, or how to get them.
func (l *loadFlags) where(rows int64) string {
	switch {
	case l.dryRun:
		return "a load with --rejects-dir keeps them"
	case l.rejectsDir != "":
		return "they are in " + l.rejectsDir
	case rows > loader.MaxWaiting:
		return "a load that begins with --rejects-dir keeps them"
	}
	return "run the load again with --rejects-dir to keep them"
}

// plan reads the mapping or the headers.
func (l *loadFlags) plan(cmd *cobra.Command, args []string) (*loader.Plan, error) {
	if len(args) == 0 && len(l.nodes)+len(l.relationships) == 0 {
		return nil, usagef("load: name a mapping, a directory or files")
	}
	if len(args) == 1 && !isMapping(args[0]) {
		// A directory may contain its mapping, as exported ones do.
		if name := filepath.Join(args[0], mappingName); isFile(name) {
			args = []string{name}
		}
	}
	if len(args) == 1 && isMapping(args[0]) {
		if len(l.nodes)+len(l.relationships) > 0 || cmd.Flags().Changed("id-type") {
			return nil, usagef("--nodes, --relationships and --id-type are for loads without a mapping")
		}
		text, err := os.ReadFile(args[0])
		if err != nil {
			return nil, exitError{exitUsage, err}
		}
		m, err := mapping.Parse(args[0], text)
		if err != nil {
			return nil, exitError{exitUsage, err}
		}
		base := l.dir
		if base == "" {
			base = filepath.Dir(args[0])
		}
		return planned(loader.NewPlan(cmd.Context(), m, base, cmd.InOrStdin()))
	}
	o := loader.HeaderOptions{Paths: args, Nodes: l.nodes, Relationships: l.relationships}
	switch strings.ToLower(l.idType) {
	case "string":
	case "integer", "int", "long":
		o.IntegerIDs = true
	default:
		return nil, usagef("--id-type %s: must be string or integer", l.idType)
	}
	if l.dir != "" {
		return nil, usagef("--dir is for loads with a mapping")
	}
	p, err := planned(loader.NewHeaderPlan(cmd.Context(), o))
	if err != nil && len(args) > 0 {
		return l.offer(cmd, args, err)
	}
	return p, err
}

// planned gives errors in a mapping or a header the exit code of bad usage.
func planned(p *loader.Plan, err error) (*loader.Plan, error) {
	if _, ok := errors.AsType[*mapping.Error](err); ok {
		err = exitError{exitUsage, err}
	}
	return p, err
}

func isMapping(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// parseBudget parses N or P%.
func parseBudget(s string) (loader.Budget, error) {
	if p, ok := strings.CutSuffix(s, "%"); ok {
		share, err := strconv.ParseFloat(p, 64)
		if err == nil && share > 0 && share <= 100 {
			return loader.Budget{Share: share / 100}, nil
		}
		if err == nil && share == 0 {
			return loader.Budget{}, nil
		}
	} else if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return loader.Budget{Rows: n}, nil
	}
	return loader.Budget{}, usagef("--max-rejects %s: must be a number, or a share such as 1%%", s)
}
