package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/export"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/loader/graphdb"
)

// fromDatabase is a load out of a running database: Neo4j, Memgraph or Hopgate.
type fromDatabase struct {
	a                    *app
	user, passwordFile   string
	database, comparison string
	source               *graphdb.Source // nil in other loads
}

func (d *fromDatabase) flags(f *pflag.FlagSet) {
	f.StringVar(&d.user, "from-user", os.Getenv("GRAPHCTL_FROM_USER"), "user of the database to copy (GRAPHCTL_FROM_USER); its password is in GRAPHCTL_FROM_PASSWORD")
	f.StringVar(&d.passwordFile, "from-password-file", "", "file with the password of --from-user")
	f.StringVar(&d.database, "from-database", "", "name of the graph to copy (default: the user's)")
	f.StringVar(&d.comparison, "compare", compareValues, "values: after a copy, read both graphs again and compare them; counts: compare numbers of elements alone")
}

// The comparisons at the end of a copy.
const (
	compareValues = "values"
	compareCounts = "counts"
)

// open connects to the database.
func (d *fromDatabase) open(ctx context.Context, url string) (loader.Database, error) {
	if d.comparison != compareValues && d.comparison != compareCounts {
		return nil, cli.Usagef("--compare %s: must be values or counts", d.comparison)
	}
	password := os.Getenv("GRAPHCTL_FROM_PASSWORD")
	if d.passwordFile != "" {
		text, err := os.ReadFile(d.passwordFile)
		if err != nil {
			return nil, cli.Error{Code: cli.Usage, Err: fmt.Errorf("--from-password-file: %w", err)}
		}
		password = strings.TrimRight(string(text), "\r\n")
	}
	var err error
	d.source, err = graphdb.Open(ctx, graphdb.Options{URL: url, User: d.user, Password: password, Database: d.database})
	if err != nil {
		return nil, err
	}
	return d.source, nil
}

// copySink refuses a load into a graph that holds other things than a part of the same copy.
type copySink struct {
	loader.Sink
	probe loader.Sink // sees the progress of an earlier run, and changes nothing
	graph string
	empty bool
}

// Begin implements loader.Sink.
func (s *copySink) Begin(ctx context.Context, o loader.Open) (loader.Opened, error) {
	if !s.empty {
		opened, err := s.probe.Begin(ctx, loader.Open{Graph: o.Graph, Stream: o.Stream, Confirms: true})
		switch err := errors.Join(err, s.probe.Finish()); {
		case err != nil:
			return opened, err
		case opened.Seq == 0 || o.Restart:
			return opened, fmt.Errorf("the graph %s is not empty: a copy needs a graph of its own, such as --graph copy after CREATE GRAPH copy", s.graph)
		}
	}
	return s.Sink.Begin(ctx, o)
}

// sink returns where to load a copy.
func (d *fromDatabase) sink(ctx context.Context, conn *grpc.ClientConn) (loader.Sink, error) {
	s := &copySink{Sink: newGRPCSink(conn), probe: newGRPCSink(conn), graph: d.a.Graph}
	err := d.a.read(ctx, "MATCH (n) RETURN count(n)", func(cells []*pb.Value) error {
		s.empty = cells[0].GetInteger() == 0
		return nil
	})
	return s, err
}

// read calls f for the rows of a statement that reads one snapshot.
func (a *app) read(ctx context.Context, statement string, f func(cells []*pb.Value) error) error {
	if err := a.beginTx(ctx, true, 0); err != nil {
		return err
	}
	defer a.closeTx()
	return a.eachRow(statement, f)
}

// execute runs a statement for its effect.
func (a *app) execute(ctx context.Context, statement string) error {
	conn, ctx, cancel, err := a.Dial(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	defer conn.Close()
	a.statement = statement
	stream, err := pb.NewGraphServiceClient(conn).Query(ctx, &pb.QueryRequest{Statement: statement, Graph: a.Graph})
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

// finish copies the schema and compares the graphs. What it lacks or what differs is an error.
func (d *fromDatabase) finish(cmd *cobra.Command) (err error) {
	if d.source == nil {
		return nil
	}
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	defer func() { err = errors.Join(err, d.source.Close(context.WithoutCancel(ctx))) }()
	failed, err := d.copySchema(ctx, out)
	if err != nil {
		return err
	}
	differences, err := d.compare(ctx, out)
	switch {
	case err != nil:
		return err
	case failed+differences > 0:
		return fmt.Errorf("the copy differs from its source in %d places, which the lines above name; was the source written to meanwhile?", failed+differences)
	}
	return nil
}

// copySchema creates the indexes and constraints of the source, and says which it cannot.
func (d *fromDatabase) copySchema(ctx context.Context, out io.Writer) (failed int, err error) {
	schema, err := d.source.Schema(ctx)
	if err != nil {
		return 0, fmt.Errorf("%s: indexes and constraints: %w", d.source.Name(), err)
	}
	for i := range schema.Indexes {
		statement := export.IndexStatement(indexProto(&schema.Indexes[i]))
		if err := d.a.execute(ctx, statement); err != nil {
			failed++
			fmt.Fprintf(out, "not created: %s: ", statement)
			d.a.report(out, err)
		}
	}
	for _, left := range schema.Left {
		fmt.Fprintln(out, "not copied:", left)
	}
	fmt.Fprintf(out, "created %d indexes and constraints; %d failed, %d are not supported\n", len(schema.Indexes)-failed, failed, len(schema.Left))
	return failed, nil
}

// indexProto returns an index in the form of the protocol.
func indexProto(ix *graph.Index) *pb.Index {
	out := &pb.Index{Name: ix.Name, Label: ix.Label, Type: ix.Type, Properties: ix.Props, Unique: ix.Unique, Required: ix.Required, Kind: ix.Kind.String()}
	switch ix.Kind {
	case graph.VectorIndex:
		out.Vector = &pb.VectorOptions{
			Dimensions: uint32(ix.Vector.Dimensions), SimilarityFunction: ix.Vector.Similarity.String(), QuantizationEnabled: ix.Vector.Quantized,
		}
		if ix.Vector.HNSW {
			out.Vector.HnswM, out.Vector.HnswEfConstruction = uint32(ix.Vector.M), uint32(ix.Vector.EfConstruction)
		}
	case graph.FullTextIndex:
		out.FullText = &pb.FullTextOptions{More: ix.Text.More, Analyzer: ix.Text.Analyzer, EventuallyConsistent: ix.Text.Eventual}
	}
	return out
}
