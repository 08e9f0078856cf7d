package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

func newPath(a *app) *cobra.Command {
	var (
		h        hopFlags
		from, to string
		req      pb.ShortestPathRequest
	)
	cmd := &cobra.Command{
		Use: "path --from Label:key=value --to Label:key=value", Short: "Find shortest paths", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if req.Hop, err = h.hop(); err != nil {
				return err
			}
			if req.From, err = selector("from", from); err != nil {
				return err
			}
			if req.To, err = selector("to", to); err != nil {
				return err
			}
			req.Graph, req.Budget = a.Graph, h.budget(a)
			if req.Parameters, err = h.params.values(); err != nil {
				return err
			}
			return a.path(cmd, &req, h.output)
		},
	}
	h.add(cmd)
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "where paths begin: Label:key=value, or a statement that returns vertices")
	f.StringVar(&to, "to", "", "where they end, likewise")
	f.Uint32Var(&req.MaxHops, "max-hops", 10, "largest number of edges of a path; 0 is no limit")
	f.BoolVar(&req.All, "all", false, "all paths with the least length or weight")
	f.Uint32Var(&req.K, "k", 0, "number of paths without repeated vertices, the best first")
	f.StringVar(&req.Weight, "weight", "", "weight of an edge: a property, or an expression over e; without it, each weighs 1")
	return cmd
}

// path finds paths and prints them with their weights.
func (a *app) path(cmd *cobra.Command, req *pb.ShortestPathRequest, output string) error {
	p, err := newRowPrinter(output, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	conn, ctx, cancel, err := a.Dial(cmd.Context())
	if err != nil {
		return err
	}
	defer cancel()
	defer conn.Close()
	stream, err := pb.NewGraphServiceClient(conn).ShortestPath(ctx, req)
	if err != nil {
		return err
	}
	p.begin([]string{"path", "weight"})
	var summary *pb.TraverseSummary
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, p.w.Flush())
		}
		if s := part.GetSummary(); s != nil {
			summary = s
		}
		if err := p.rows(pathRows(part.GetPaths())); err != nil {
			return err
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	a.printNotices(cmd.ErrOrStderr(), summary.GetNotifications())
	printTruncated(cmd, summary)
	return nil
}

// pathRows converts paths to rows of two columns.
func pathRows(b *pb.PathBatch) *pb.RowBatch {
	paths, weights := &pb.ListValue{}, &pb.DoubleColumn{}
	for _, f := range b.GetPaths() {
		paths.Values = append(paths.Values, &pb.Value{Kind: &pb.Value_Path{Path: f.GetPath()}})
		weights.Values = append(weights.Values, f.GetWeight())
	}
	return &pb.RowBatch{Rows: uint32(len(b.GetPaths())), Columns: []*pb.Column{
		{Data: &pb.Column_Values{Values: paths}}, {Data: &pb.Column_Floats{Floats: weights}},
	}}
}
