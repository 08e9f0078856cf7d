package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/query/traverse"
	"github.com/hopgate/hopgate/internal/size"
)

// hopFlags are the flags of commands that traverse edges.
type hopFlags struct {
	edges     []string
	direction string
	where     string
	output    string
	params    queryFlags
	visits    uint64
	partial   bool
}

func (h *hopFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&h.edges, "edge", nil, "comma-separated edge types; none is all")
	f.StringVar(&h.direction, "direction", "out", "out, in or both")
	f.StringVar(&h.where, "where", "", "openCypher condition on e, an edge, and v, the vertex it leads to")
	f.StringVarP(&h.output, "output", "o", "table", "table, json, ndjson, csv, arrow or parquet")
	f.Uint64Var(&h.visits, "max-visits", 0, "largest number of edges to visit; 0 is the server's limit")
	f.BoolVar(&h.partial, "partial", false, "return what was found when a limit is reached")
	f.StringArrayVarP(&h.params.params, "param", "p", nil, "parameter name=value of conditions; the value is JSON, a bare word a string")
}

// hop returns the hop that the flags describe.
func (h *hopFlags) hop() (*pb.Hop, error) {
	d, ok := pb.Direction_value["DIRECTION_"+strings.ToUpper(h.direction)]
	if !ok || d == 0 {
		return nil, cli.Usagef("--direction %s: must be out, in or both", h.direction)
	}
	return &pb.Hop{Types: h.edges, Direction: pb.Direction(d), Where: h.where}, nil
}

// budget returns the limits of the request.
func (h *hopFlags) budget(a *app) *pb.RequestBudget {
	b := &pb.RequestBudget{MaxVisits: h.visits, Partial: h.partial}
	if a.Timeout > 0 {
		b.Timeout = durationpb.New(a.Timeout)
	}
	return b
}

// selector parses a start: Label:key=value, several values separated by commas or as a JSON list, or a statement, which contains a space. A
// value is JSON; a bare word is a string.
func selector(flag, text string) (*pb.VertexSelector, error) {
	if text == "" {
		return nil, cli.Usagef("--%s: is required: Label:key=value, or a statement that returns vertices", flag)
	}
	label, rest, ok := strings.Cut(text, ":")
	property, value, named := strings.Cut(rest, "=")
	if !ok || !named || strings.ContainsAny(label+property, " ({") {
		if strings.Contains(text, " ") {
			return &pb.VertexSelector{By: &pb.VertexSelector_Statement{Statement: text}}, nil
		}
		return nil, cli.Usagef("--%s %s: must be Label:key=value, or a statement that returns vertices", flag, text)
	}
	v, err := paramValue(value)
	if err != nil {
		return nil, cli.Usagef("--%s %s: %v", flag, text, err)
	}
	values := []*pb.Value{v}
	if l := v.GetList(); l != nil {
		values = l.GetValues()
	}
	return &pb.VertexSelector{By: &pb.VertexSelector_Key{Key: &pb.KeySelector{Label: label, Property: property, Values: values}}}, nil
}

func newTraverse(a *app) *cobra.Command {
	var (
		h                               hopFlags
		from, hops, mode                string
		req                             pb.TraverseRequest
		maxDegree, sample, skip, perHop uint64
	)
	cmd := &cobra.Command{
		Use: "traverse --from Label:key=value", Short: "Go from vertices along edges, hop by hop", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hop, err := h.hop()
			if err != nil {
				return err
			}
			hop.MaxDegree, hop.Sample, hop.SkipSupernodes, hop.Limit = maxDegree, sample, skip, perHop
			if req.From, err = selector("from", from); err != nil {
				return err
			}
			m, ok := pb.TraverseMode_value["TRAVERSE_MODE_"+strings.ToUpper(mode)]
			if !ok || m == 0 {
				return cli.Usagef("--mode %s: must be frontier, walk, trail, acyclic or nearest", mode)
			}
			req.Mode, req.Hops, req.Graph, req.Budget = pb.TraverseMode(m), []*pb.Hop{hop}, a.Graph, h.budget(a)
			if req.MinHops, req.MaxHops, err = traverse.ParseHops(hops); err != nil {
				return cli.Usagef("--%v", err)
			}
			if req.Parameters, err = h.params.values(); err != nil {
				return err
			}
			return a.traverse(cmd, &req, h.output)
		},
	}
	h.add(cmd)
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "where to start: Label:key=value, or a statement that returns vertices")
	f.StringVar(&hops, "hops", "1", "number of hops, or a range such as 1..3")
	f.StringVar(&mode, "mode", "frontier", "frontier, walk, trail, acyclic or nearest")
	f.StringVar(&req.Returns, "return", "ids", "count, ids, vertices, edges, paths, or openCypher expressions over v, e, h, s and p")
	f.BoolVar(&req.Distinct, "distinct", false, "each row once")
	f.BoolVar(&req.ByHop, "by-hop", false, "begin each row with the hop")
	f.Uint64Var(&req.Limit, "limit", 0, "rows; 0 is all")
	f.Uint64Var(&perHop, "hop-limit", 0, "largest number of edges of a hop; 0 is all")
	f.Uint64Var(&maxDegree, "max-degree", 0, "largest number of edges to follow from a vertex; 0 is all")
	f.Uint64Var(&skip, "skip-supernodes", 0, "do not expand vertices with more edges than this; 0 is no threshold")
	f.Uint64Var(&sample, "sample", 0, "number of edges to follow from a vertex, chosen by the seed; 0 is all")
	f.Int64Var(&req.Seed, "seed", 0, "seed of the sample")
	return cmd
}

// traverse runs a traversal and prints its rows.
func (a *app) traverse(cmd *cobra.Command, req *pb.TraverseRequest, output string) error {
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
	stream, err := pb.NewGraphServiceClient(conn).Traverse(ctx, req)
	if err != nil {
		return err
	}
	var summary *pb.TraverseSummary
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, p.w.Flush())
		}
		switch x := part.GetPart().(type) {
		case *pb.TraverseResponse_Header:
			p.begin(x.Header.GetFields())
		case *pb.TraverseResponse_Rows:
			if err := p.rows(x.Rows); err != nil {
				return err
			}
		case *pb.TraverseResponse_Summary:
			summary = x.Summary
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	a.printNotices(cmd.ErrOrStderr(), summary.GetNotifications())
	printTruncated(cmd, summary)
	return nil
}

// printTruncated reports that the result is incomplete, and how far the search got.
func printTruncated(cmd *cobra.Command, s *pb.TraverseSummary) {
	if !s.GetTruncated() {
		return
	}
	w := cmd.ErrOrStderr()
	fmt.Fprintln(w, "graphctl: the result was truncated:", s.GetTruncatedReason())
	for _, h := range s.GetHops() {
		fmt.Fprintf(w, "hop %d: %s of %s\n", h.GetHop(), size.Count(h.GetEdges(), "edge"), size.Count(h.GetSources(), "vertex"))
	}
}
