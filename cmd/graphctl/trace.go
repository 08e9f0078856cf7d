package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/size"
)

func newTrace(a *app) *cobra.Command {
	req := &pb.TraceRequest{}
	var least time.Duration
	var output string
	cmd := &cobra.Command{
		Use: "trace", Short: "Show live requests as they end, with the stages that their time went into",
		Long: "Show live requests as they end, with the stages that their time went into: decode, queue, plan, begin, execute with each\n" +
			"operator and its shard requests, commit, encode. An operator's time is its own, without its inputs.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "ndjson" {
				return cli.Usagef("--output %s: must be table or ndjson", output)
			}
			if least < 0 {
				return cli.Usagef("--min %v: must not be negative", least)
			}
			if _, err := regexp.Compile(req.Match); err != nil {
				return cli.Usagef("--match: %v", err)
			}
			req.Min = durationpb.New(least)
			conn, ctx, cancel, err := a.Dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer conn.Close()
			stream, err := pb.NewAdminServiceClient(conn).Trace(ctx, req)
			if err != nil {
				return err
			}
			for {
				res, err := stream.Recv()
				if errors.Is(err, io.EOF) || cmd.Context().Err() != nil {
					return nil
				}
				if err != nil {
					return err
				}
				if output == "ndjson" {
					err = cli.PrintJSON(cmd.OutOrStdout(), res)
				} else {
					err = printTrace(cmd.OutOrStdout(), res)
				}
				if err != nil {
					return err
				}
			}
		},
	}
	cmd.Flags().DurationVar(&least, "min", 10*time.Millisecond, "only requests that took at least this long")
	cmd.Flags().StringVar(&req.Match, "match", "", "only requests whose text matches this regular expression")
	cmd.Flags().Uint32VarP(&req.Limit, "limit", "n", 0, "number of requests; 0 continues until interrupted")
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or ndjson")
	return cmd
}

// printTrace prints a request and the tree of its stages.
func printTrace(w io.Writer, r *pb.TraceResponse) error {
	if r.GetMissed() > 0 {
		fmt.Fprintf(w, "(dropped %s)\n", size.Count(r.GetMissed(), "request"))
	}
	fmt.Fprintf(w, "%s  %v  %s  %s %s  graph %s  id %d\n  %s\n", r.GetStart().AsTime().Format("15:04:05.000"),
		brief(r.GetElapsed().AsDuration()), size.Count(r.GetRows(), "row"), r.GetKind(), r.GetFingerprint(), r.GetGraph(), r.GetId(),
		shorten(cli.OneLine(r.GetStatement()), 300))
	if r.GetError() != "" {
		fmt.Fprintf(w, "  failed: %s\n", cli.OneLine(r.GetError()))
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	var tree func(stages []*pb.Stage, indent string)
	tree = func(stages []*pb.Stage, indent string) {
		for _, s := range stages {
			var did []string
			if s.GetRows() > 0 {
				did = append(did, size.Count(s.GetRows(), "row"))
			}
			if s.GetRequests() > 0 {
				did = append(did, fmt.Sprintf("%d shard requests (%s)", s.GetRequests(), size.Text(s.GetBytes())))
			}
			fmt.Fprintf(t, "%s%s\t%v\t%s\t%s\n", indent, s.GetName(), brief(s.GetTime().AsDuration()), strings.Join(did, ", "),
				shorten(cli.OneLine(s.GetDetail()), 80))
			tree(s.GetStages(), indent+"  ")
		}
	}
	tree(r.GetStages(), "  ")
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}
