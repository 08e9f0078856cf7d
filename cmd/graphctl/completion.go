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
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/cli"
)

// completionTime bounds a completion's request to the server. Without an answer in time, there are no suggestions.
const completionTime = 2 * time.Second

// Flags with suggestions for their values.
var (
	// listed flags list their values in their usage text.
	listed = []string{"output", "direction", "mode", "format", "sort", "method", "id-type"}
	// fileFlags take files with these extensions, or any file.
	fileFlags = map[string][]string{
		"tls-ca": nil, "tls-cert": nil, "tls-key": nil, "file": nil, "out": nil, "base": nil,
		"params": {"json"}, "report": {"json"}, "sunburst": {"html"}, "flame": {"html"}, "nodes": nil, "relationships": nil,
	}
	dirFlags = []string{"dir", "data-dir", "rejects-dir"}
)

// values returns the completions of a word.
type values = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)

// addCompletions registers completions for the flags and arguments of a command.
func (a *app) addCompletions(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "bool" {
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, a.flagValues(f)) // an error means that the flag has its own completion, which stays
	})
	switch cmd.Name() {
	case "load", "pprof":
		return // these complete files, too
	case "backup", "restore", "export", "manual":
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

// flagValues returns the completions of a flag.
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

// fromServer returns completions that the server supplies.
func (a *app) fromServer(cmd *cobra.Command, ask func(context.Context, *pbClients) ([]string, error)) []string {
	ctx, stop := context.WithTimeout(cmd.Context(), completionTime)
	defer stop()
	conn, ctx, cancel, err := a.Dial(ctx)
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

// pbClients are the services that completions call.
type pbClients struct {
	admin pb.AdminServiceClient
	graph pb.GraphServiceClient
}

func (a *app) graphNames(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := a.fromServer(cmd, func(ctx context.Context, c *pbClients) (names []string, err error) {
		stream, err := c.graph.Query(ctx, &pb.QueryRequest{Statement: "SHOW GRAPHS YIELD name", Graph: a.Graph})
		for err == nil {
			var part *pb.QueryResponse
			if part, err = stream.Recv(); part.GetSummary() != nil {
				return names, nil
			}
			rows := part.GetRows()
			for i := range int(rows.GetRows()) {
				names = append(names, answer.Cell(rows.GetColumns()[0], i).GetString_())
			}
		}
		return nil, err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// schemaNames returns names from the graph's schema.
func (a *app) schemaNames(cmd *cobra.Command, of func(*pb.SchemaResponse) []*pb.NameCount) []string {
	return a.fromServer(cmd, func(ctx context.Context, c *pbClients) (names []string, err error) {
		s, err := c.admin.Schema(ctx, &pb.SchemaRequest{Graph: a.Graph})
		for _, n := range of(s) {
			names = append(names, n.GetName())
		}
		return names, err
	})
}

// edgeTypes completes the last type of a comma-separated list.
func (a *app) edgeTypes(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	before := word[:strings.LastIndex(word, ",")+1]
	names := a.schemaNames(cmd, (*pb.SchemaResponse).GetEdgeTypes)
	for i := range names {
		names[i] = before + names[i]
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// labels completes the label of Label:key=value.
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
	ids := a.fromServer(cmd, func(ctx context.Context, c *pbClients) (ids []string, err error) {
		r, err := c.admin.RunningQueries(ctx, &pb.RunningQueriesRequest{})
		for _, q := range r.GetQueries() {
			ids = append(ids, cobra.CompletionWithDesc(strconv.FormatUint(q.GetId(), 10), shorten(cli.OneLine(q.GetStatement()), 60)))
		}
		return ids, err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}
