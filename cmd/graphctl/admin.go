package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/client"
	"github.com/hopgate/hopgate/internal/cli/member"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/size"
	"github.com/hopgate/hopgate/internal/version"
)

func newSchema(a *app) *cobra.Command {
	return client.Command(&a.Server, "schema", "Show labels, edge types, properties, indexes and constraints", cobra.NoArgs,
		func(ctx context.Context, c pb.AdminServiceClient, _ []string) (*pb.SchemaResponse, error) {
			return c.Schema(ctx, &pb.SchemaRequest{Graph: a.Graph})
		},
		func(w io.Writer, s *pb.SchemaResponse) {
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
				fmt.Fprintf(w, "%s\t%s\t%s%s(%s)\n", indexKind(ix), ix.GetName(), ix.GetLabel(), ix.GetType(), strings.Join(ix.GetProperties(), ", "))
			}
		})
}

func indexKind(ix *pb.Index) string {
	switch {
	case ix.GetUnique() && ix.GetRequired():
		return "key"
	case ix.GetUnique():
		return "unique"
	case ix.GetRequired():
		return "required"
	case ix.GetKind() == graph.PointIndex.String():
		return "point index"
	case ix.GetKind() == graph.VectorIndex.String():
		return "vector index"
	case ix.GetKind() == graph.FullTextIndex.String():
		return "full-text index"
	}
	return "index"
}

func newStats(a *app) *cobra.Command {
	return client.Command(&a.Server, "stats", "Show counts and the shape of the store", cobra.NoArgs,
		func(ctx context.Context, c pb.AdminServiceClient, _ []string) (*pb.StatsResponse, error) {
			return c.Stats(ctx, &pb.StatsRequest{Graph: a.Graph})
		},
		func(w io.Writer, s *pb.StatsResponse) {
			fmt.Fprintf(w, "vertices\t%d\nedges\t%d\n", s.GetVertices(), s.GetEdges())
			props := func(label, typ string) {
				for _, p := range s.GetProperties() {
					if p.GetLabel() == label && p.GetEdgeType() == typ {
						fmt.Fprintf(w, "    .%s\t%d\n", p.GetProperty(), p.GetCount())
					}
				}
			}
			for _, n := range s.GetLabels() {
				fmt.Fprintf(w, "  :%s\t%d\n", n.GetName(), n.GetCount())
				props(n.GetName(), "")
			}
			for _, n := range s.GetEdgeTypes() {
				fmt.Fprintf(w, "  [:%s]\t%d\n", n.GetName(), n.GetCount())
				props("", n.GetName())
			}
			for _, n := range s.GetDistinct() {
				fmt.Fprintf(w, "  distinct in %s\tabout %d\n", n.GetName(), n.GetCount())
			}
			for _, d := range s.GetDegrees() {
				writeDegrees(w, d)
			}
			for _, sh := range s.GetShards() {
				fmt.Fprintf(w, "shard %d\n", sh.GetShard())
				fmt.Fprintf(w, "  disk\t%s\n  levels\t%d\n", size.Text(sh.GetDiskBytes()), sh.GetLevels())
				fmt.Fprintf(w, "  amplification\t%d of reads, %.2f of writes\n", sh.GetReadAmplification(), sh.GetWriteAmplification())
				for _, st := range sh.GetStores() {
					writeStore(w, st)
				}
				fmt.Fprintf(w, "  separated values\t%s live, %s dead\n", size.Text(sh.GetSeparatedLiveBytes()), size.Text(sh.GetSeparatedDeadBytes()))
				fmt.Fprintf(w, "  block cache hits\t%s\n", found(sh.GetBlockFoundBytes(), sh.GetBlockReadBytes(), size.Text(sh.GetBlockReadBytes())))
				wanted := sh.GetTopologyCacheHits() + sh.GetTopologyCacheMisses()
				fmt.Fprintf(w, "  topology cache hits\t%s\n", found(sh.GetTopologyCacheHits(), wanted, fmt.Sprintf("%d blocks", wanted)))
				fmt.Fprintf(w, "  caches of its process\t%s of blocks, %s of topology\n", size.Text(sh.GetBlockCacheBytes()), size.Text(sh.GetTopologyCacheBytes()))
			}
			member.PrintReplicas(w, s.GetMembers())
		})
}

// writeStore writes the non-empty levels of a store.
func writeStore(w io.Writer, s *pb.StoreStats) {
	fmt.Fprintf(w, "  store %s\t%s, amplification %d of reads, %.2f of writes\n", s.GetName(), size.Text(s.GetDiskBytes()),
		s.GetReadAmplification(), s.GetWriteAmplification())
	for i, l := range s.GetLevels() {
		if l.GetFiles() > 0 {
			fmt.Fprintf(w, "    level %d\t%s in %s, amplification %d of reads\n", i, size.Text(l.GetBytes()), size.Count(l.GetFiles(), "file"), l.GetReadAmplification())
		}
	}
}

// writeDegrees writes a histogram: a line for each power of two.
func writeDegrees(w io.Writer, d *pb.DegreeHistogram) {
	arrow := "-[:" + d.GetEdgeType() + "]->"
	if d.GetIncoming() {
		arrow = "<-[:" + d.GetEdgeType() + "]-"
	}
	fmt.Fprintf(w, "degrees %s\n", arrow)
	for i, n := range d.GetVertices() {
		lo, hi := uint64(1)<<i, uint64(1)<<(i+1)-1
		if lo == hi {
			fmt.Fprintf(w, "  %d\t%d\n", lo, n)
			continue
		}
		fmt.Fprintf(w, "  %d to %d\t%d\n", lo, hi, n)
	}
}

// found formats the hit rate of a cache; total describes all requests.
func found(n, of uint64, total string) string {
	if of == 0 {
		return "not used yet"
	}
	return fmt.Sprintf("%.1f%% of %s", 100*float64(n)/float64(of), total)
}

func newPS(a *app) *cobra.Command {
	return client.Command(&a.Server, "ps", "List running queries", cobra.NoArgs,
		func(ctx context.Context, c pb.AdminServiceClient, _ []string) (*pb.RunningQueriesResponse, error) {
			return c.RunningQueries(ctx, &pb.RunningQueriesRequest{})
		},
		func(w io.Writer, r *pb.RunningQueriesResponse) {
			fmt.Fprintln(w, "ID\tGRAPH\tELAPSED\tROWS\tCONNECTION\tCLIENT\tAGENT\tSTATEMENT")
			for _, q := range r.GetQueries() {
				fmt.Fprintf(w, "%d\t%s\t%v\t%d\t%s\t%s\t%s\t%s\n", q.GetId(), q.GetGraph(), q.GetElapsed().AsDuration().Round(time.Millisecond),
					q.GetRows(), q.GetConnection(), q.GetClient(), cli.OneLine(q.GetAgent()), cli.OneLine(q.GetStatement()))
			}
		})
}

func newKill(a *app) *cobra.Command {
	return client.Command(&a.Server, "kill ID", "End a running query", cobra.ExactArgs(1),
		func(ctx context.Context, c pb.AdminServiceClient, args []string) (*pb.KillQueryResponse, error) {
			id, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil {
				return nil, cli.Usagef("kill: %q is not an id; see graphctl ps", args[0])
			}
			r, err := c.KillQuery(ctx, &pb.KillQueryRequest{Id: id})
			if err == nil && !r.GetKilled() {
				err = fmt.Errorf("kill: query %d is not running", id)
			}
			return r, err
		},
		func(io.Writer, *pb.KillQueryResponse) {})
}

func newSlowlog(a *app) *cobra.Command {
	var limit uint32
	cmd := client.Command(&a.Server, "slowlog", "Show the slowest queries with their plans", cobra.NoArgs,
		func(ctx context.Context, c pb.AdminServiceClient, _ []string) (*pb.SlowLogResponse, error) {
			return c.SlowLog(ctx, &pb.SlowLogRequest{Limit: limit})
		},
		func(w io.Writer, r *pb.SlowLogResponse) {
			for i, q := range r.GetQueries() {
				if i > 0 {
					fmt.Fprintln(w)
				}
				fmt.Fprintf(w, "%v, %s, %s, graph %s, fingerprint %s\n  %s\n", q.GetElapsed().AsDuration().Round(time.Microsecond), size.Count(q.GetRows(), "row"),
					q.GetStart().AsTime().Format(time.RFC3339), q.GetGraph(), dash(q.GetFingerprint()), cli.OneLine(q.GetStatement()))
				if q.GetError() != "" {
					fmt.Fprintf(w, "  failed: %s\n", cli.OneLine(q.GetError()))
				}
				if q.GetPlan() != nil {
					var plan strings.Builder
					printPlan(&plan, q.GetPlan())
					for line := range strings.Lines(plan.String()) {
						fmt.Fprint(w, "    ", line)
					}
				}
			}
		})
	cmd.Flags().Uint32VarP(&limit, "limit", "n", 10, "how many; 0 is all")
	return cmd
}

func newVersion(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Show the versions of the client and the server", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := cmd.OutOrStdout()
			fmt.Fprintln(w, "graphctl", version.Build())
			conn, ctx, cancel, err := a.Dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer conn.Close()
			ctx, stop := context.WithTimeout(ctx, 2*time.Second)
			defer stop()
			v, err := pb.NewAdminServiceClient(conn).Version(ctx, &pb.VersionRequest{})
			if err != nil {
				fmt.Fprintln(w, "server not reached at", a.Address)
				return nil
			}
			fmt.Fprintln(w, "hopgate", v.GetVersion(), v.GetCommit(), v.GetGoVersion())
			return nil
		},
	}
	return cmd
}
