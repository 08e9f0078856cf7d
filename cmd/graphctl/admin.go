package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
)

// adminCommand is a command that makes one call of AdminService.
func adminCommand(a *app, use, short string, args cobra.PositionalArgs, call func(ctx context.Context, c pb.AdminServiceClient, w io.Writer, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			conn, ctx, cancel, err := a.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer conn.Close()
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			if err := call(ctx, pb.NewAdminServiceClient(conn), w, args); err != nil {
				return err
			}
			return w.Flush()
		},
	}
}

func newSchema(a *app) *cobra.Command {
	return adminCommand(a, "schema", "Show labels, edge types, properties, indexes and constraints", cobra.NoArgs,
		func(ctx context.Context, c pb.AdminServiceClient, w io.Writer, _ []string) error {
			s, err := c.Schema(ctx, &pb.SchemaRequest{Graph: a.graph})
			if err != nil {
				return err
			}
			for _, n := range s.GetLabels() {
				fmt.Fprintf(w, "label\t%s\t%d\n", n.GetName(), n.GetCount())
			}
			for _, n := range s.GetEdgeTypes() {
				fmt.Fprintf(w, "edge type\t%s\t%d\n", n.GetName(), n.GetCount())
			}
			for _, n := range s.GetProperties() {
				fmt.Fprintf(w, "property\t%s\t\n", n)
			}
			for _, ix := range s.GetIndexes() {
				kind := "index"
				if ix.GetUnique() || ix.GetRequired() {
					kind = "constraint"
				}
				fmt.Fprintf(w, "%s\t%s\t%s%s(%s)\n", kind, ix.GetName(), ix.GetLabel(), ix.GetType(), strings.Join(ix.GetProperties(), ", "))
			}
			return nil
		})
}

func newStats(a *app) *cobra.Command {
	return adminCommand(a, "stats", "Show counts and the shape of the store", cobra.NoArgs,
		func(ctx context.Context, c pb.AdminServiceClient, w io.Writer, _ []string) error {
			s, err := c.Stats(ctx, &pb.StatsRequest{Graph: a.graph})
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "vertices\t%d\nedges\t%d\n", s.GetVertices(), s.GetEdges())
			for _, n := range s.GetLabels() {
				fmt.Fprintf(w, "  :%s\t%d\n", n.GetName(), n.GetCount())
			}
			for _, n := range s.GetEdgeTypes() {
				fmt.Fprintf(w, "  [:%s]\t%d\n", n.GetName(), n.GetCount())
			}
			for _, sh := range s.GetShards() {
				fmt.Fprintf(w, "shard %d\n", sh.GetShard())
				fmt.Fprintf(w, "  disk bytes\t%d\n  LSM levels\t%d\n  read amplification\t%d\n  write amplification\t%.2f\n",
					sh.GetDiskBytes(), sh.GetLevels(), sh.GetReadAmplification(), sh.GetWriteAmplification())
				fmt.Fprintf(w, "  separated bytes\t%d live, %d dead\n", sh.GetSeparatedLiveBytes(), sh.GetSeparatedDeadBytes())
				fmt.Fprintf(w, "  block cache\t%d bytes, %d hits, %d misses\n", sh.GetBlockCacheBytes(), sh.GetBlockCacheHits(), sh.GetBlockCacheMisses())
				fmt.Fprintf(w, "  topology cache\t%d bytes, %d hits, %d misses\n",
					sh.GetTopologyCacheBytes(), sh.GetTopologyCacheHits(), sh.GetTopologyCacheMisses())
			}
			return nil
		})
}

func newPS(a *app) *cobra.Command {
	return adminCommand(a, "ps", "List running queries", cobra.NoArgs,
		func(ctx context.Context, c pb.AdminServiceClient, w io.Writer, _ []string) error {
			r, err := c.RunningQueries(ctx, &pb.RunningQueriesRequest{})
			if err != nil {
				return err
			}
			fmt.Fprintln(w, "ID\tGRAPH\tELAPSED\tROWS\tSTATEMENT")
			for _, q := range r.GetQueries() {
				fmt.Fprintf(w, "%d\t%s\t%v\t%d\t%s\n", q.GetId(), q.GetGraph(), q.GetElapsed().AsDuration().Round(time.Millisecond),
					q.GetRows(), oneLine(q.GetStatement()))
			}
			return nil
		})
}

func newKill(a *app) *cobra.Command {
	return adminCommand(a, "kill ID", "End a running query", cobra.ExactArgs(1),
		func(ctx context.Context, c pb.AdminServiceClient, _ io.Writer, args []string) error {
			id, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil {
				return usagef("kill: %q is no id; see graphctl ps", args[0])
			}
			r, err := c.KillQuery(ctx, &pb.KillQueryRequest{Id: id})
			if err == nil && !r.GetKilled() {
				err = fmt.Errorf("kill: no query %d runs", id)
			}
			return err
		})
}

func newSlowlog(a *app) *cobra.Command {
	var limit uint32
	cmd := adminCommand(a, "slowlog", "Show the slowest queries with their plans", cobra.NoArgs,
		func(ctx context.Context, c pb.AdminServiceClient, w io.Writer, _ []string) error {
			r, err := c.SlowLog(ctx, &pb.SlowLogRequest{Limit: limit})
			if err != nil {
				return err
			}
			for _, q := range r.GetQueries() {
				fmt.Fprintf(w, "%v\t%s\t%s\t%d rows\t%s\t%s\n", q.GetElapsed().AsDuration().Round(time.Microsecond),
					q.GetStart().AsTime().Format(time.RFC3339), q.GetGraph(), q.GetRows(), oneLine(q.GetStatement()), q.GetError())
				if q.GetPlan() != nil {
					printPlan(w, q.GetPlan(), "    ")
				}
			}
			return nil
		})
	cmd.Flags().Uint32VarP(&limit, "limit", "n", 10, "how many; 0 is all")
	return cmd
}

func newVersion(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Show the versions of the client and the server", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := cmd.OutOrStdout()
			fmt.Fprintln(w, "graphctl", query.Version(), query.Commit())
			conn, ctx, cancel, err := a.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer conn.Close()
			ctx, stop := context.WithTimeout(ctx, 2*time.Second)
			defer stop()
			v, err := pb.NewAdminServiceClient(conn).Version(ctx, &pb.VersionRequest{})
			if err != nil {
				fmt.Fprintln(w, "server not reached at", a.address)
				return nil
			}
			fmt.Fprintln(w, "hopgate", v.GetVersion(), v.GetCommit(), v.GetGoVersion())
			return nil
		},
	}
	return cmd
}
