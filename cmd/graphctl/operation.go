package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/client"
	"github.com/hopgate/hopgate/internal/operation"
)

func newOperation(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "operation", Short: "Show, change and run the trusted operations of a graph", Args: client.OnlySubcommands,
		RunE: func(*cobra.Command, []string) error {
			return cli.Usagef("operation: name a command: put, import, list, show, enable, disable or drop")
		},
	}
	cmd.AddCommand(
		putOperations(a, "put FILE …", "Add the operations of files, or replace those of their names", "db.operations.put",
			func(file, text string) error { _, err := operation.Parse(file, text); return err }),
		putOperations(a, "import FILE …", "Add the operations of manifests of persisted queries, as Apollo's and Cosmo's tools write them", "db.operations.import",
			func(file, text string) error { _, err := operation.Manifest(file, []byte(text)); return err }),
		operationTable(a, "list", "List the operations that the caller may run", cobra.NoArgs,
			"CALL db.operations.list() YIELD name, kind, state, version, write, description, problem RETURN name, kind, state, version, write, description, problem"),
		operationTable(a, "show NAME", "Show an operation", cobra.ExactArgs(1),
			"CALL db.operations.list() YIELD name, kind, route, description, params, roles, write, state, problem, version, hash, id, statement WITH * WHERE name = $name "+
				"RETURN name, kind, route, description, params, roles, write, state, problem, version, hash, id, statement"),
		operationTable(a, "enable NAME", "Enable an operation", cobra.ExactArgs(1), "CALL db.operations.enable($name)"),
		operationTable(a, "disable NAME", "Disable an operation: its calls fail until it is enabled", cobra.ExactArgs(1), "CALL db.operations.disable($name)"),
		operationTable(a, "drop NAME", "Drop an operation", cobra.ExactArgs(1), "CALL db.operations.drop($name)"),
	)
	return cmd
}

// operationTable returns a command that runs a statement about operations, with the argument as $name, and prints its rows.
func operationTable(a *app, use, short string, args cobra.PositionalArgs, statement string) *cobra.Command {
	var q queryFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			var params map[string]*pb.Value
			if len(args) > 0 {
				params = map[string]*pb.Value{"name": stringValue(args[0])}
			}
			return queryWith(a, cmd, q, statement, params)
		},
	}
	cmd.Flags().StringVarP(&q.output, "output", "o", "table", "table, json, ndjson, csv, arrow or parquet")
	return cmd
}

// queryWith runs a statement with parameters, and prints its rows.
func queryWith(a *app, cmd *cobra.Command, q queryFlags, statement string, params map[string]*pb.Value) error {
	q.set = params
	return a.query(cmd, &q, statement)
}

func stringValue(s string) *pb.Value { return &pb.Value{Kind: &pb.Value_String_{String_: s}} }

// putOperations returns a command that sends files to a procedure. check finds faults before anything is sent.
func putOperations(a *app, use, short, procedure string, check func(file, text string) error) *cobra.Command {
	var q queryFlags
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			texts := make([]string, len(files))
			for i, file := range files {
				text, err := readOperations(cmd, file)
				if err != nil {
					return cli.Error{Code: cli.Usage, Err: err}
				}
				if err := check(file, text); err != nil {
					return cli.Error{Code: cli.Usage, Err: err}
				}
				texts[i] = text
			}
			for i, file := range files {
				params := map[string]*pb.Value{"text": stringValue(texts[i]), "file": stringValue(file)}
				if err := queryWith(a, cmd, q, "CALL "+procedure+"($text, $file)", params); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&q.output, "output", "o", "table", "table, json, ndjson, csv, arrow or parquet")
	return cmd
}

func readOperations(cmd *cobra.Command, file string) (string, error) {
	if file == "-" {
		b, err := io.ReadAll(cmd.InOrStdin())
		return string(b), err
	}
	b, err := os.ReadFile(file)
	return strings.TrimPrefix(string(b), "\ufeff"), err
}
