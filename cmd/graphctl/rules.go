package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/client"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/rules"
	"github.com/hopgate/hopgate/internal/shell"
)

// allRules lists the statements that make the access rules of a graph.
const allRules = "SHOW PRIVILEGES AS COMMANDS"

func newRules(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rules", Short: "Show and change who may see and change what in a graph", Args: client.OnlySubcommands,
		RunE: func(*cobra.Command, []string) error { return cli.Usagef("rules: name a command: apply or show") },
	}
	show := &cobra.Command{
		Use: "show", Short: "Print the statements that make the access rules of a graph", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := a.column(cmd.Context(), allRules)
			for _, r := range all {
				fmt.Fprintln(cmd.OutOrStdout(), r+";")
			}
			return err
		},
	}
	var file string
	var dryRun bool
	apply := &cobra.Command{
		Use: "apply", Short: "Make the access rules of a graph those of a file", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return cli.Usagef("rules apply: name a file by -f")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			return a.applyRules(cmd.Context(), file, string(text), dryRun, cmd.OutOrStdout())
		},
	}
	apply.Flags().StringVarP(&file, "file", "f", "", "file of GRANT and DENY statements, each ended by a semicolon")
	apply.Flags().BoolVar(&dryRun, "dry-run", false, "only print the difference")
	cmd.AddCommand(apply, show, newRulesTest(a))
	return cmd
}

func newRulesTest(a *app) *cobra.Command {
	var q queryFlags
	var as string
	cmd := &cobra.Command{
		Use: "test STATEMENT", Short: "Run a statement that reads as another caller, and print what that caller gets", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if as == "" {
				return cli.Usagef("rules test: name a file of the caller's claims by --as")
			}
			claims, err := os.ReadFile(as)
			if err != nil {
				return cli.Error{Code: cli.Usage, Err: err}
			}
			q.claims = string(claims)
			if strings.TrimSpace(q.claims) == "" {
				return cli.Usagef("rules test: %s is empty: it must hold a JSON object", as)
			}
			return a.query(cmd, &q, args[0])
		},
	}
	q.add(cmd)
	cmd.Flags().StringVar(&as, "as", "", `JSON file of the caller's claims, such as {"sub": "ann", "roles": ["nurse"], "ward": "a"}`)
	cmd.Flags().StringVarP(&q.output, "output", "o", "table", "table, json, ndjson, csv, arrow or parquet")
	return cmd
}

// column runs a statement and returns its first column, of strings.
func (a *app) column(ctx context.Context, statement string) (out []string, err error) {
	a.statement = statement
	conn, ctx, cancel, err := a.Dial(ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer conn.Close()
	stream, err := pb.NewGraphServiceClient(conn).Query(ctx, &pb.QueryRequest{Statement: statement, Graph: a.Graph})
	for err == nil {
		var part *pb.QueryResponse
		part, err = stream.Recv()
		for i := range int(part.GetRows().GetRows()) {
			out = append(out, answer.Cell(part.GetRows().GetColumns()[0], i).GetString_())
		}
	}
	if errors.Is(err, io.EOF) {
		return out, nil
	}
	return nil, err
}

// applyRules prints how the rules of the graph differ from those of a file and, unless dryRun, makes them those of the file in one
// transaction.
func (a *app) applyRules(ctx context.Context, file, text string, dryRun bool, w io.Writer) error {
	names, err := a.column(ctx, "CALL db.info() YIELD id RETURN id")
	if err != nil {
		return err
	}
	wanted, err := a.fileRules(file, text, names[0])
	if err != nil {
		return err
	}
	statements, err := a.column(ctx, allRules)
	if err != nil {
		return err
	}
	var present []rules.Rule
	for _, s := range statements {
		of, err := parseRules(s)
		if err != nil {
			return fmt.Errorf("this client does not understand the rule %s: %w", s, err)
		}
		present = append(present, of...)
	}
	var changes []string
	for _, r := range missing(wanted, present) {
		changes = append(changes, r.Command(names[0]))
	}
	for _, r := range missing(present, wanted) {
		changes = append(changes, r.Revoke(names[0]))
	}
	changes = slices.Compact(changes) // WRITE is two rules
	for _, s := range changes {
		fmt.Fprintln(w, s+";")
	}
	if len(changes) == 0 {
		fmt.Fprintln(w, "nothing to change")
	}
	if len(changes) == 0 || dryRun {
		return nil
	}
	return a.inTransaction(ctx, changes)
}

// missing returns the rules that are not among others.
func missing(all, others []rules.Rule) []rules.Rule {
	keys := map[string]bool{}
	for i := range others {
		keys[others[i].Key()] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(r rules.Rule) bool { return keys[r.Key()] })
}

// parseRules returns the rules that a GRANT or DENY makes.
func parseRules(statement string) ([]rules.Rule, error) {
	c, err := cypher.ParseRules(statement)
	if err != nil {
		return nil, err
	}
	return c.Rules(nil, nil)
}

// fileRules returns the rules of a file for a graph. An error is reported with its place in the file.
func (a *app) fileRules(file, text, graphName string) (all []rules.Rule, err error) {
	steps, rest := shell.Split(text)
	if rest.Text != "" {
		steps = append(steps, rest)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("%s has no statement, and so no rules; REVOKE removes the last rules of a graph", file)
	}
	a.script = file
	for _, a.step = range steps {
		of, err := stepRules(a.step.Text, graphName, a.Graph)
		if err != nil {
			if g := graph.AsError(err); g.Pos.Line > 0 {
				a.step = shell.Step{At: a.inStep(g.Pos)}
			}
			return nil, err
		}
		all = append(all, of...)
	}
	a.script, a.step = "", shell.Step{}
	return all, nil
}

// stepRules returns the rules of a statement for a graph, which the client has asked for by a name.
func stepRules(text, graphName, asked string) ([]rules.Rule, error) {
	c, err := cypher.ParseRules(text)
	if err != nil {
		return nil, err
	}
	all, err := c.Rules(nil, nil)
	named := func(edges bool) bool {
		return slices.ContainsFunc(all, func(r rules.Rule) bool { return r.Edges == edges && len(r.Names) > 0 })
	}
	switch on := cypher.HeadOf(c).Graph; {
	case err != nil:
		return nil, err
	case c.Revoke:
		return nil, errors.New("a file has the rules that a graph is to have; others are revoked")
	case on != "" && on != graphName && on != asked:
		return nil, fmt.Errorf("the statement is about the graph %s, not %s (--graph)", on, graphName)
	case named(false) && named(true):
		return nil, errors.New("a file says NODES or RELATIONSHIPS before names, which ELEMENTS leaves open")
	}
	return all, nil
}

// inTransaction runs statements that return no rows in one transaction.
func (a *app) inTransaction(ctx context.Context, statements []string) error {
	if err := a.beginTx(ctx, false, 0); err != nil {
		return err
	}
	defer a.closeTx()
	for _, a.statement = range statements {
		p, err := newRowPrinter("ndjson", io.Discard)
		if err == nil {
			_, err = a.runInTx(ctx, &queryFlags{}, a.statement, nil, p)
		}
		if err != nil {
			return err
		}
	}
	_, err := a.tx.step(&pb.TransactRequest{Step: &pb.TransactRequest_Commit{Commit: &pb.TransactCommit{}}})
	return err
}
