package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/export"
	"github.com/hopgate/hopgate/internal/size"
)

func newExport(a *app) *cobra.Command {
	var format string
	var withRules bool
	names := export.Formats()
	last := len(names) - 1
	list := strings.Join(names[:last], ", ") + " or " + names[last]
	cmd := &cobra.Command{
		Use:   "export DIR --format " + strings.Join(names, "|"),
		Short: "Write a graph to files that load reads back",
		Long: `Write one state of a graph to the new directory DIR, while others write: CSV with neo4j-admin's headers; JSON lines, Parquet or
Arrow with a mapping; one file of APOC's JSON lines with a mapping; GraphML; or a script of Cypher statements, which Neo4j runs too. graphctl load DIR
makes an equal graph of it; DIR/schema.cypher holds the statements, one a line, that create its indexes, constraints and TTLs. With --rules,
DIR/rules.cypher holds its access rules, which graphctl rules apply -f makes again; only an admin of the graph may read them.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(names, format) {
				return cli.Usagef("--format %s: must be %s", format, list)
			}
			return a.export(cmd.Context(), cmd.OutOrStdout(), args[0], format, withRules)
		},
	}
	cmd.Flags().StringVar(&format, "format", "csv", list)
	cmd.Flags().BoolVar(&withRules, "rules", false, "also write the access rules, to DIR/rules.cypher")
	return cmd
}

// export writes a graph to a new directory.
func (a *app) export(ctx context.Context, out io.Writer, dir, format string, withRules bool) error {
	indexes, err := a.indexes(ctx)
	if err != nil {
		return err
	}
	var rules []string
	if withRules {
		if rules, err = a.column(ctx, allRules); err != nil {
			return err
		}
		rules = append([]string{}, rules...) // a graph without rules has a file too
	}
	if err := a.beginTx(ctx, true, 0); err != nil {
		return err
	}
	defer a.closeTx()
	t, err := export.Write(&export.Graph{Rows: a.eachRow, Indexes: indexes, Rules: rules}, dir, format)
	if err == nil {
		fmt.Fprintf(out, "exported %s and %s to %s in %s\n", size.Count(t.Vertices, "vertex"), size.Count(t.Edges, "edge"), size.Count(t.Files, "file"), filepath.Clean(dir))
	}
	return err
}

// indexes returns the indexes and constraints of the graph.
func (a *app) indexes(ctx context.Context) ([]*pb.Index, error) {
	conn, ctx, cancel, err := a.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer conn.Close()
	s, err := pb.NewAdminServiceClient(conn).Schema(ctx, &pb.SchemaRequest{Graph: a.Graph})
	return s.GetIndexes(), err
}

// eachRow runs a statement in the open transaction and calls f for its rows. f may keep the cells.
func (a *app) eachRow(statement string, f func(cells []*pb.Value) error) error {
	if a.tx == nil {
		return nil // an earlier statement failed
	}
	a.statement = statement
	err := a.tx.send(&pb.TransactRequest{Step: &pb.TransactRequest_Run{Run: &pb.TransactRun{Statement: statement}}})
	var cells []*pb.Value
	for err == nil {
		var part *pb.TransactResponse
		if part, err = a.tx.stream.Recv(); err != nil {
			break
		}
		res := part.GetResult()
		if s := res.GetSummary(); s != nil {
			if s.GetTruncated() {
				err = fmt.Errorf("the server truncated the result: %s", s.GetTruncatedReason())
				break
			}
			return nil
		}
		rows := res.GetRows()
		cells = append(cells[:0], make([]*pb.Value, len(rows.GetColumns()))...)
		for i := range int(rows.GetRows()) {
			for j, c := range rows.GetColumns() {
				cells[j] = answer.Cell(c, i)
			}
			if err = f(cells); err != nil {
				break
			}
		}
	}
	a.closeTx()
	return err
}
