package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/member"
)

// topOrders are the sort orders of operations, largest first; the server sorts by total time.
var topOrders = map[string]func(a, b *pb.Operation) int{
	"time":   func(a, b *pb.Operation) int { return 0 },
	"calls":  func(a, b *pb.Operation) int { return cmp.Compare(b.GetCalls(), a.GetCalls()) },
	"errors": func(a, b *pb.Operation) int { return cmp.Compare(b.GetErrors(), a.GetErrors()) },
	"mean":   func(a, b *pb.Operation) int { return cmp.Compare(b.GetMean().AsDuration(), a.GetMean().AsDuration()) },
	"p99":    func(a, b *pb.Operation) int { return cmp.Compare(b.GetP99().AsDuration(), a.GetP99().AsDuration()) },
	"name":   func(a, b *pb.Operation) int { return cmp.Compare(a.GetText(), b.GetText()) },
}

func newTop(a *app) *cobra.Command {
	var interval time.Duration
	var iterations, limit int
	var order, output string
	cmd := &cobra.Command{
		Use: "top", Short: "Watch calls, errors, rate and latency of each operation",
		Long: "Watch calls, errors, rate and latency of each operation: of statements and fetches that differ in their values alone, of\n" +
			"traversals, and of routes. The share is that of the time of all routes, or of all other operations. Requests count when they end.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			compare := topOrders[order]
			switch {
			case compare == nil:
				return cli.Usagef("--sort %s: must be %s", order, strings.Join(slices.Sorted(maps.Keys(topOrders)), ", "))
			case output != "table" && output != "ndjson":
				return cli.Usagef("--output %s: must be table or ndjson", output)
			case iterations < 0 || limit < 0:
				return cli.Usagef("--iterations and --limit must not be negative")
			}
			conn, ctx, cancel, err := a.Dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer conn.Close()
			stream, err := pb.NewAdminServiceClient(conn).Top(ctx, &pb.TopRequest{Interval: durationpb.New(interval)})
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			live := cli.IsTerminal(w)
			for n := 1; ; n++ {
				res, err := stream.Recv()
				if errors.Is(err, io.EOF) || cmd.Context().Err() != nil {
					return nil
				}
				if err != nil {
					return err
				}
				slices.SortStableFunc(res.Operations, compare)
				if limit > 0 && len(res.Operations) > limit {
					res.Operations = res.Operations[:limit]
				}
				switch {
				case output == "ndjson":
					err = cli.PrintJSON(w, res)
				default:
					if live {
						fmt.Fprint(w, "\x1b[H\x1b[2J")
					}
					err = printTopOperations(w, res)
				}
				if err != nil || n == iterations {
					return err
				}
			}
		},
	}
	cmd.Flags().DurationVar(&interval, "interval", time.Second, "how long to count before each answer")
	cmd.Flags().IntVarP(&iterations, "iterations", "n", 0, "number of answers; 0 continues until interrupted")
	cmd.Flags().StringVar(&order, "sort", "time", "time, calls, errors, mean, p99 or name")
	cmd.Flags().IntVar(&limit, "limit", 25, "how many operations; 0 is all")
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or ndjson")
	return cmd
}

// printTopOperations prints the operations of one interval.
func printTopOperations(w io.Writer, res *pb.TopResponse) error {
	fmt.Fprintf(w, "%s, %v\n", res.GetEnd().AsTime().Format(time.RFC3339), res.GetInterval().AsDuration().Round(time.Millisecond))
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	member.PrintReplicas(t, res.GetMembers())
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(t, "CALLS\tOK\tERRORS\tRATE\tMEAN\tP99\tSHARE\tKIND\tGRAPH\tFINGERPRINT\tOPERATION")
	for _, o := range res.GetOperations() {
		fmt.Fprintf(t, "%d\t%d\t%d\t%.1f/s\t%v\t%v\t%.1f%%\t%s\t%s\t%s\t%s\n", o.GetCalls(), o.GetCalls()-o.GetErrors(), o.GetErrors(), o.GetRate(),
			brief(o.GetMean().AsDuration()), brief(o.GetP99().AsDuration()), 100*o.GetShare(), o.GetKind(), dash(o.GetGraph()),
			dash(o.GetFingerprint()), shorten(cli.OneLine(o.GetText()), 100))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// brief rounds a duration to about three digits.
func brief(d time.Duration) time.Duration {
	for unit := time.Nanosecond; ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// shorten truncates text to a number of characters.
func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
