package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/graph"
)

func newExplain(a *app) *cobra.Command {
	var q queryFlags
	var quote bool
	cmd := &cobra.Command{
		Use: "explain STATEMENT", Short: "Show the plan of a statement; - reads it from standard input", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.plan(cmd, &q, "EXPLAIN ", args[0])
			if err != nil {
				return err
			}
			printPlan(cmd.OutOrStdout(), s.GetPlan())
			switch b := s.GetQuote(); {
			case quote && b != nil && b.Visits != nil:
				fmt.Fprintln(cmd.OutOrStdout(), "at most", b.GetVisits(), "visits")
			case quote:
				fmt.Fprintln(cmd.OutOrStdout(), "no bound:", cmp.Or(b.GetReason(), "the server quotes none"))
			}
			return nil
		},
	}
	q.add(cmd)
	cmd.Flags().BoolVar(&quote, "quote", false, "tell the most visits that a run takes, or why they have no bound")
	return cmd
}

func newProfile(a *app) *cobra.Command {
	var q queryFlags
	var sunburst string
	cmd := &cobra.Command{
		Use: "profile STATEMENT", Short: "Run a statement and show its plan with rows, time, requests, bytes and memory; --sunburst draws it",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.plan(cmd, &q, "PROFILE ", args[0])
			if err != nil {
				return err
			}
			p := s.GetPlan()
			printPlan(cmd.OutOrStdout(), p)
			if sunburst == "" {
				return nil
			}
			page, err := sunburstPage(p, args[0])
			if err != nil {
				return err
			}
			if err := os.WriteFile(sunburst, page, 0o666); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "sunburst:", sunburst)
			return nil
		},
	}
	q.add(cmd)
	cmd.Flags().StringVar(&sunburst, "sunburst", "", "write a self-contained page with the operators as a sunburst to this file")
	return cmd
}

// plan runs a statement with a prefix and returns the summary, which has a plan.
func (a *app) plan(cmd *cobra.Command, q *queryFlags, prefix, text string) (*pb.QuerySummary, error) {
	p, err := newPrinter("ndjson", io.Discard)
	if err != nil {
		return nil, err
	}
	if text, err = statementText(cmd, text); err != nil {
		return nil, err
	}
	a.step.At = graph.Pos{Line: 1, Column: 1 - len(prefix)} // positions in errors refer to the statement without the prefix
	summary, err := a.stream(cmd, q, prefix+text, p)
	if err != nil {
		return nil, err
	}
	a.printNotices(cmd.ErrOrStderr(), summary.GetNotifications())
	if summary.GetPlan() == nil {
		return nil, cli.Usagef("a command has no plan")
	}
	return summary, nil
}

// planTime returns the time of an operator including its inputs.
func planTime(n *pb.PlanNode) time.Duration {
	d := n.GetTime().AsDuration()
	for _, c := range n.GetChildren() {
		d += planTime(c)
	}
	return d
}

// counted formats a figure that another process may not report.
func counted(n *uint64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatUint(*n, 10)
}

// wireColumns returns the figures of a gateway's calls to other processes.
func wireColumns(n *pb.PlanNode) []string {
	return []string{counted(n.WireRequests), counted(n.WireSent), counted(n.WireReceived), counted(n.Edges), perEdge(n)}
}

// perEdge returns the bytes between processes per edge.
func perEdge(n *pb.PlanNode) string {
	if n.GetEdges() == 0 || n.GetWireRequests() == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(n.GetWireSent()+n.GetWireReceived())/float64(n.GetEdges()), 'f', 2, 64)
}

// printPlan prints a plan as a tree with the result at the top and, if profiled, the figures of each operator alone.
func printPlan(w io.Writer, root *pb.PlanNode) {
	all := max(planTime(root), 1)
	var lines [][]string
	profiled := false
	var walk func(n *pb.PlanNode, first, rest string)
	walk = func(n *pb.PlanNode, first, rest string) {
		line := []string{strings.TrimRight(first+n.GetOperator()+" "+n.GetArguments(), " ")}
		estimate := ""
		if n.EstimatedRows != nil {
			estimate = strconv.FormatFloat(math.Ceil(n.GetEstimatedRows()), 'f', 0, 64)
		}
		line = append(line, estimate)
		if n.GetTime() != nil {
			profiled = true
			own := n.GetTime().AsDuration()
			line = append(line, strconv.FormatUint(n.GetRows(), 10), strconv.FormatUint(n.GetBatches(), 10), own.Round(time.Microsecond).String(),
				fmt.Sprintf("%.1f%%", 100*float64(own)/float64(all)), strconv.FormatUint(n.GetShardRequests(), 10), strconv.FormatUint(n.GetBytes(), 10), strconv.FormatUint(n.GetMemory(), 10),
				counted(n.CacheHits), counted(n.CacheMisses), counted(n.LargeValues))
			if root.WireRequests != nil {
				line = append(line, wireColumns(n)...)
			}
		}
		lines = append(lines, line)
		for i, c := range n.GetChildren() {
			if i < len(n.GetChildren())-1 {
				walk(c, rest+"├ ", rest+"│ ")
			} else {
				walk(c, rest+"└ ", rest+"  ")
			}
		}
	}
	walk(root, "", "")
	if profiled {
		head := []string{"operator", "estimated", "rows", "batches", "time", "share", "requests", "bytes", "memory", "hits", "misses", "large"}
		if root.WireRequests != nil {
			head = append(head, "calls", "sent", "received", "edges", "bytes/edge")
		}
		lines = append([][]string{head}, lines...)
	} else {
		lines = append([][]string{{"operator", "estimated"}}, lines...)
	}
	writeColumns(w, lines)
}
