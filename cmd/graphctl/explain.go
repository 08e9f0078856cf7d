package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

func newExplain(a *app) *cobra.Command {
	var q queryFlags
	cmd := &cobra.Command{
		Use: "explain STATEMENT", Short: "Show the plan of a statement", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.plan(cmd, &q, "EXPLAIN ", args[0]) },
	}
	q.add(cmd)
	return cmd
}

func newProfile(a *app) *cobra.Command {
	var q queryFlags
	cmd := &cobra.Command{
		Use: "profile STATEMENT", Short: "Run a statement and show its plan with rows, time and shard requests", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.plan(cmd, &q, "PROFILE ", args[0]) },
	}
	q.add(cmd)
	return cmd
}

// plan runs a statement under a prefix and prints the plan alone.
func (a *app) plan(cmd *cobra.Command, q *queryFlags, prefix, text string) error {
	p, err := newPrinter("ndjson", io.Discard)
	if err != nil {
		return err
	}
	summary, err := a.stream(cmd, q, prefix+text, p)
	if err != nil {
		return err
	}
	printPlan(cmd.OutOrStdout(), summary.GetPlan(), "")
	return nil
}

func printPlan(w io.Writer, n *pb.PlanNode, indent string) {
	fmt.Fprintf(w, "%s%s %s", indent, n.GetOperator(), n.GetArguments())
	if n.GetTime() != nil {
		fmt.Fprintf(w, "  [%d rows, %d batches, %v, %d shard requests]", n.GetRows(), n.GetBatches(),
			n.GetTime().AsDuration().Round(time.Microsecond), n.GetShardRequests())
	}
	fmt.Fprintln(w)
	for _, c := range n.GetChildren() {
		printPlan(w, c, indent+"  ")
	}
}
