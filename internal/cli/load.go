package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/size"
)

// MappingName is the name of the mapping in an exported directory, where a load finds it.
const MappingName = loader.MappingName

// outsideHeap is about the memory of a load apart from the Go heap and a tenth of the limit: pages of the program itself.
const outsideHeap = 64 << 20

// gcPercent bounds the garbage of a load, in percent of its live heap.
const gcPercent = 400

// Load is a command that loads, apart from what it writes to.
type Load struct {
	// To runs a load, or a dry run. It sets the graph of the options.
	To func(cmd *cobra.Command, l *Load, plan *loader.Plan, o loader.Options) (*loader.Report, error)

	// Database connects to a running database; nil if the command copies none.
	Database func(ctx context.Context, url string) (loader.Database, error)
	// Then, if not nil, runs after a load that is no dry run and has come to its end.
	Then func(cmd *cobra.Command) error

	Workers  int        // number of parsers
	Memory   size.Bytes // of the load
	DryRun   bool
	Progress string // auto, plain or none

	asks                           func() bool // whether a user can answer questions; nil checks for a terminal
	dir, rejectsDir, report, admin string
	maxRejects, idType             string
	onDuplicate                    string
	nodes, relationships           []string
	restart                        bool
	out                            string // of --init
	partial                        bool
}

// Flags defines the flags of the command.
func (l *Load) Flags(f *pflag.FlagSet) {
	l.Memory = 512 << 20
	f.StringVar(&l.dir, "dir", "", "base of the mapping's relative paths (default: the mapping's folder)")
	f.IntVar(&l.Workers, "workers", 0, "number of parsers; 0 means one per core")
	f.Var(&l.Memory, "memory", "memory of the load, in bytes or such as 512MiB")
	f.BoolVar(&l.restart, "restart", false, "start over instead of continuing an earlier run of this load")
	f.StringVar(&l.maxRejects, "max-rejects", "0", "refused rows after which the load ends: a number, or P% of all rows")
	f.StringVar(&l.onDuplicate, "on-duplicate", "overwrite",
		"overwrite, keep-first or error: what becomes of a vertex's row whose key an earlier row of the load has")
	f.StringVar(&l.rejectsDir, "rejects-dir", "", "directory for refused rows")
	f.StringVar(&l.report, "report", "", "file for the report, as JSON")
	f.StringVar(&l.admin, "admin", "", "address for the load's metrics and profiles, such as 127.0.0.1:6061")
	f.StringVar(&l.Progress, "progress", "auto", "auto: on a terminal; plain: as lines; none")
	f.StringArrayVar(&l.nodes, "nodes", nil, "[LABEL[:LABEL]…=]FILE[,FILE]…, as for neo4j-admin import; may be repeated")
	f.StringArrayVar(&l.relationships, "relationships", nil, "[TYPE=]FILE[,FILE]…, as for neo4j-admin import; may be repeated")
	f.StringVar(&l.idType, "id-type", "string", "string or integer: type of the ids whose neo4j-admin headers name none")
}

// Run loads what the arguments name, and prints a summary.
func (l *Load) Run(cmd *cobra.Command, args []string) (err error) {
	budget, err := parseBudget(l.maxRejects)
	if err != nil {
		return err
	}
	onDuplicate, ok := shard.OnDuplicateNames[l.onDuplicate]
	if !ok {
		return Usagef("--on-duplicate %s: must be overwrite, keep-first or error", l.onDuplicate)
	}
	show, err := newProgress(l.Progress, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if l.Memory < 16<<20 {
		return Usagef("--memory: must be at least 16MiB")
	}
	plan, err := l.plan(cmd, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(max(int64(l.Memory)/2, int64(l.Memory)*9/10-outsideHeap))
	}
	if os.Getenv("GOGC") == "" {
		// Memory up to the limit is free to use.
		debug.SetGCPercent(gcPercent)
	}
	if l.Workers == 0 {
		l.Workers = runtime.GOMAXPROCS(0)
	}
	stop, err := serveAdmin(cmd.Context(), l.admin, plan, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	rep, err := l.To(cmd, l, plan, loader.Options{
		Restart: l.restart, Workers: l.Workers, Memory: int64(l.Memory), MaxRejects: budget, RejectsDir: l.rejectsDir,
		OnDuplicate: onDuplicate, OnReject: show.reject, Progress: show.update,
	})
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
	if err == nil && l.Then != nil && !l.DryRun {
		err = l.Then(cmd)
	}
	switch {
	case tooMany != nil:
		return Error{Rejects, fmt.Errorf("%w; %s", err, l.where(rep.Rejects))}
	case err != nil && rep.Rejects == 0:
		return err
	case rep.Rejects > 0:
		return Error{Rejects, fmt.Errorf("finished, but refused %s; %s", size.Count(rep.Rejects, "row"), l.where(rep.Rejects))}
	}
	return nil
}

// where describes where refused rows are, or how to get them.
func (l *Load) where(rows int64) string {
	switch {
	case l.DryRun:
		return "a load with --rejects-dir keeps them"
	case l.rejectsDir != "":
		return "they are in " + l.rejectsDir
	case rows > loader.MaxWaiting:
		return "a load that begins with --rejects-dir keeps them"
	}
	return "run the load again with --rejects-dir to keep them"
}

// plan reads the mapping or the headers.
func (l *Load) plan(cmd *cobra.Command, args []string) (*loader.Plan, error) {
	if len(args) == 0 && len(l.nodes)+len(l.relationships) == 0 {
		return nil, Usagef("%s: name a mapping, a directory or files", cmd.Name())
	}
	if slices.ContainsFunc(args, loader.IsDatabase) {
		return l.fromDatabase(cmd, args)
	}
	if len(args) == 1 && !isMapping(args[0]) {
		// A directory may contain its mapping, as exported ones do.
		if name := filepath.Join(args[0], MappingName); isFile(name) {
			args = []string{name}
		}
	}
	if len(args) == 1 && isMapping(args[0]) {
		if len(l.nodes)+len(l.relationships) > 0 || cmd.Flags().Changed("id-type") {
			return nil, Usagef("--nodes, --relationships and --id-type are for loads without a mapping")
		}
		text, err := os.ReadFile(args[0])
		if err != nil {
			return nil, Error{Usage, err}
		}
		m, err := mapping.Parse(args[0], text)
		if err != nil {
			return nil, Error{Usage, err}
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
		return nil, Usagef("--id-type %s: must be string or integer", l.idType)
	}
	if l.dir != "" {
		return nil, Usagef("--dir is for loads with a mapping")
	}
	p, err := planned(loader.NewHeaderPlan(cmd.Context(), o))
	if err != nil && len(args) > 0 {
		return l.offer(cmd, args, err)
	}
	return p, err
}

// fromDatabase plans to copy a running database.
func (l *Load) fromDatabase(cmd *cobra.Command, args []string) (*loader.Plan, error) {
	if l.Database == nil {
		return nil, Usagef("%s: graphctl load copies a running database, through a server", cmd.Name())
	}
	if len(args) != 1 {
		return nil, Usagef("a running database is copied by itself: name it alone")
	}
	for _, name := range []string{"nodes", "relationships", "id-type", "dir"} {
		if cmd.Flags().Changed(name) {
			return nil, Usagef("--%s is for files; %s describes itself", name, args[0])
		}
	}
	db, err := l.Database(cmd.Context(), args[0])
	if err != nil {
		return nil, err
	}
	return loader.NewDatabasePlan(cmd.Context(), db)
}

// planned gives errors in a mapping or a header the exit code of bad usage.
func planned(p *loader.Plan, err error) (*loader.Plan, error) {
	if _, ok := errors.AsType[*mapping.Error](err); ok {
		err = Error{Usage, err}
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
	return loader.Budget{}, Usagef("--max-rejects %s: must be a number, or a share such as 1%%", s)
}
