package main

import (
	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/client"
)

func newQuota(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "quota", Short: "Show and change the quotas of a graph", Args: client.OnlySubcommands,
		RunE: func(*cobra.Command, []string) error { return cli.Usagef("quota: name a command: put, list or drop") },
	}
	// Alone, the calls pass also when a quota refuses the caller.
	cmd.AddCommand(putQuota(a), operationTable(a, "list", "List the quotas, with what their accounts have used and have left", cobra.NoArgs, "CALL db.quotas.list()"),
		operationTable(a, "drop NAME", "Drop a quota", cobra.ExactArgs(1), "CALL db.quotas.drop($name)"))
	return cmd
}

func putQuota(a *app) *cobra.Command {
	var whom, measure, window, mode string
	var each bool
	var amount float64
	cmd := &cobra.Command{
		Use: "put NAME", Short: "Add a quota, or replace that of its name", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			of := &pb.Value{Kind: &pb.Value_Map{Map: &pb.MapValue{Entries: []*pb.MapEntry{
				{Key: "name", Value: stringValue(args[0])},
				{Key: "for", Value: stringValue(whom)},
				{Key: "each", Value: &pb.Value{Kind: &pb.Value_Boolean{Boolean: each}}},
				{Key: "measure", Value: stringValue(measure)},
				{Key: "amount", Value: &pb.Value{Kind: &pb.Value_Float{Float: amount}}},
				{Key: "window", Value: stringValue(window)},
				{Key: "mode", Value: stringValue(mode)},
			}}}}
			return queryWith(a, cmd, queryFlags{output: "table"}, "CALL db.quotas.put($quota)", map[string]*pb.Value{"quota": of})
		},
	}
	f := cmd.Flags()
	f.StringVar(&whom, "for", "everyone", "whose requests count: everyone, token=NAME, role=NAME, claim=NAME=VALUE or operation=NAME")
	f.BoolVar(&each, "each", false, "each caller has an account of its own")
	f.StringVar(&measure, "measure", "cost", "what counts: cost (visits and rows), cpu (seconds) or requests")
	f.Float64Var(&amount, "amount", 0, "what an account may take in a window (required)")
	f.StringVar(&window, "window", "minute", "second, minute, hour or day, of UTC")
	f.StringVar(&mode, "mode", "measure", "measure: only count; enforce: refuse what is beyond the amount")
	_ = cmd.MarkFlagRequired("amount")
	return cmd
}
