package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// completionTime bounds the question to the server that a completion asks; without an answer there are no values.
const completionTime = 2 * time.Second

// The flags whose values are not free.
var (
	// listed flags name their values in their usage.
	listed = []string{"output", "direction", "mode", "format", "sort", "method", "id-type"}
	// fileFlags take files of the kinds, or of any.
	fileFlags = map[string][]string{
		"tls-ca": nil, "tls-cert": nil, "tls-key": nil, "file": nil, "out": nil, "base": nil,
		"params": {"json"}, "report": {"json"}, "sunburst": {"html"}, "flame": {"html"}, "nodes": nil, "relationships": nil,
	}
	dirFlags = []string{"dir", "data-dir", "rejects-dir"}
)

// values completes a word by what it gives.
type values = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)

// addCompletions completes the values of a command's flags and its arguments.
func (a *app) addCompletions(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "bool" {
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, a.flagValues(f)) // an error says that it has one, which then counts
	})
	switch cmd.Name() {
	case "load", "pprof":
		return // files, too
	case "backup", "restore", "export":
		cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	case "kill":
		cmd.ValidArgsFunction = a.runningIDs
	default:
		if cmd.ValidArgs == nil && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// flagValues gives what completes a flag.
func (a *app) flagValues(f *pflag.Flag) values {
	kinds, isFile := fileFlags[f.Name]
	switch {
	case slices.Contains(listed, f.Name):
		list, _, _ := strings.Cut(f.Usage, ":")
		return cobra.FixedCompletions(strings.FieldsFunc(strings.ReplaceAll(list, " or ", ","), func(r rune) bool { return r == ',' || r == ' ' }), cobra.ShellCompDirectiveNoFileComp)
	case f.Name == "progress":
		return cobra.FixedCompletions([]string{"auto", "plain", "none"}, cobra.ShellCompDirectiveNoFileComp)
	case isFile && kinds != nil:
		return cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveFilterFileExt)
	case isFile:
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case slices.Contains(dirFlags, f.Name):
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case f.Name == "graph":
		return a.graphNames
	case f.Name == "edge":
		return a.edgeTypes
	case f.Name == "from" || f.Name == "to":
		return a.labels
	}
	return cobra.NoFileCompletions
}

// asked completes by what a server says.
func (a *app) asked(cmd *cobra.Command, ask func(context.Context, *pbClients) ([]string, error)) []string {
	ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
	defer stop()
	conn, ctx, cancel, err := a.dial(ctx)
	if err != nil {
		return nil
	}
	defer cancel()
	defer conn.Close()
	names, err := ask(ctx, &pbClients{pb.NewAdminServiceClient(conn), pb.NewGraphServiceClient(conn)})
	if err != nil {
		return nil
	}
	return names
}

// pbClients are the services that completions ask.
type pbClients struct {
	admin pb.AdminServiceClient
	graph pb.GraphServiceClient
}

func (a *app) graphNames(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := a.asked(cmd, func(ctx context.Context, c *pbClients) (names []string, err error) {
		stream, err := c.graph.Query(ctx, &pb.QueryRequest{Statement: "SHOW GRAPHS YIELD name", Graph: a.graph})
		for err == nil {
			var part *pb.QueryResponse
			if part, err = stream.Recv(); part.GetSummary() != nil {
				return names, nil
			}
			rows := part.GetRows()
			for i := range int(rows.GetRows()) {
				names = append(names, cell(rows.GetColumns()[0], i).GetString_())
			}
		}
		return nil, err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// schemaNames gives names of the graph's schema.
func (a *app) schemaNames(cmd *cobra.Command, of func(*pb.SchemaResponse) []*pb.NameCount) []string {
	return a.asked(cmd, func(ctx context.Context, c *pbClients) (names []string, err error) {
		s, err := c.admin.Schema(ctx, &pb.SchemaRequest{Graph: a.graph})
		for _, n := range of(s) {
			names = append(names, n.GetName())
		}
		return names, err
	})
}

// edgeTypes completes the last of the types before which there are commas.
func (a *app) edgeTypes(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := word[:strings.LastIndex(word, ",")+1]
	names := a.schemaNames(cmd, (*pb.SchemaResponse).GetEdgeTypes)
	for i := range names {
		names[i] = before + names[i]
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// labels completes Label:key=value up to the colon.
func (a *app) labels(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := a.schemaNames(cmd, (*pb.SchemaResponse).GetLabels)
	for i := range names {
		names[i] += ":"
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func (a *app) runningIDs(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids := a.asked(cmd, func(ctx context.Context, c *pbClients) (ids []string, err error) {
		r, err := c.admin.RunningQueries(ctx, &pb.RunningQueriesRequest{})
		for _, q := range r.GetQueries() {
			ids = append(ids, cobra.CompletionWithDesc(strconv.FormatUint(q.GetId(), 10), shorten(oneLine(q.GetStatement()), 60)))
		}
		return ids, err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}
