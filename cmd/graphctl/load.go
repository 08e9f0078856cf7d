package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/loader"
)

func newLoad(a *app) *cobra.Command {
	var dir string
	var offline, propose, noLog bool
	from := &fromDatabase{a: a}
	l := cli.Load{Database: from.open, Then: from.finish}
	l.To = func(cmd *cobra.Command, l *cli.Load, plan *loader.Plan, o loader.Options) (*loader.Report, error) {
		o.Unlogged = noLog
		return a.load(cmd, l, plan, o, from)
	}
	cmd := &cobra.Command{
		Use:   "load MAPPING.yaml | DIR | FILES… | bolt://HOST:PORT",
		Short: "Load files, by a mapping or CSV with neo4j-admin headers, scripts of statements, or a running Neo4j or Memgraph",
		RunE: func(cmd *cobra.Command, args []string) error {
			args = exportedScript(args)
			switch {
			case slices.ContainsFunc(args, isScript):
				return loadScripts(a, cmd, args)
			case slices.ContainsFunc(args, loader.IsDatabase) && (offline || propose):
				return cli.Usagef("a running database is copied through a server: without --offline and --init")
			case propose:
				return l.Propose(cmd, args)
			case cmd.Flags().Changed("out") || cmd.Flags().Changed("partial"):
				return cli.Usagef("--out and --partial go with --init")
			case offline && noLog:
				return cli.Usagef("--no-log goes without --offline, which adds nothing to the commit log")
			case !offline && dir == "":
				return l.Run(cmd, args)
			case !offline:
				return cli.Usagef("--data-dir goes with --offline")
			case dir == "":
				return cli.Usagef("--offline needs --data-dir, the data directory of a server that does not run")
			case l.DryRun:
				return cli.Usagef("--dry-run and --offline: a dry run writes nothing; leave --offline out")
			}
			return a.hopgate(cmd, "import", args, "offline", "dry-run", "init")
		},
	}
	f := cmd.Flags()
	l.Flags(f)
	from.flags(f)
	f.BoolVar(&l.DryRun, "dry-run", false, "parse and check everything, write nothing")
	f.BoolVar(&noLog, "no-log", false, "keep the changes out of the commit log: change streams then get their numbers alone")
	f.BoolVar(&offline, "offline", false, "load into a data directory without a server, by hopgate import")
	f.BoolVar(&propose, "init", false, "load nothing: print a mapping proposed for the files, which loads as it is")
	l.InitFlags(f)
	f.StringVar(&dir, "data-dir", "", "the data directory of --offline")
	return cmd
}

// load loads through a server.
func (a *app) load(cmd *cobra.Command, l *cli.Load, plan *loader.Plan, o loader.Options, from *fromDatabase) (*loader.Report, error) {
	o.Graph = a.Graph
	conn, ctx, cancel, err := a.Dial(cmd.Context())
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
	if l.DryRun {
		return plan.DryRun(ctx, o, a.resolver(conn))
	}
	if from.source == nil {
		return plan.Run(ctx, newGRPCSink(conn), o)
	}
	sink, err := from.sink(ctx, conn)
	if err != nil {
		return nil, err
	}
	return plan.Run(ctx, sink, o)
}
