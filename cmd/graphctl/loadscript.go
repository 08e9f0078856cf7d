package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/export"
	input "github.com/hopgate/hopgate/internal/loader/text"
)

// scriptTotal is what the statements of a load have done.
type scriptTotal struct {
	statements int64
	counters   pb.Counters
}

// add adds the changes of a statement or a transaction that is committed.
func (t *scriptTotal) add(c *pb.Counters) {
	sum := t.counters.ProtoReflect()
	c.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Kind() == protoreflect.Uint64Kind {
			v = protoreflect.ValueOfUint64(sum.Get(f).Uint() + v.Uint())
		}
		sum.Set(f, v)
		return true
	})
}

// isScript reports whether a name is that of a file of statements.
func isScript(name string) bool {
	ext := strings.ToLower(filepath.Ext(input.PlainName(input.FileName(name))))
	return ext == ".cypher" || ext == ".cql"
}

// exportedScript replaces a directory that was exported as a script by the script.
func exportedScript(args []string) []string {
	if len(args) == 1 {
		script := filepath.Join(args[0], export.ScriptName)
		if info, err := os.Stat(script); err == nil && info.Mode().IsRegular() {
			return []string{script}
		}
	}
	return args
}

// loadScripts runs the statements of files in their order, and prints what they have changed.
func loadScripts(a *app, cmd *cobra.Command, names []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if cmd.InheritedFlags().Lookup(f.Name) == nil {
			err = errors.Join(err, cli.Usagef("--%s is for records; a script runs its statements as they are", f.Name))
		}
	})
	if i := slices.IndexFunc(names, func(n string) bool { return !isScript(n) }); i >= 0 {
		err = cli.Usagef("%s is no script: load it apart from scripts", names[i])
	}
	if err != nil {
		return err
	}
	start, q := time.Now(), &queryFlags{total: &scriptTotal{}}
	for _, name := range names {
		if err := a.inOrder(loadScript(a, cmd, q, name)); err != nil {
			return err
		}
	}
	done := "nothing changed"
	if q.total.counters.GetContainsUpdates() {
		done = countersText(&q.total.counters)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "ran %s statements in %.1f s: %s\n", cli.Grouped(q.total.statements), time.Since(start).Seconds(), done)
	return nil
}

func loadScript(a *app, cmd *cobra.Command, q *queryFlags, name string) error {
	in := input.Source{Paths: []string{name}, Name: input.Shown(name)}
	t, err := in.Open(cmd.Context(), 0)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	return errors.Join(a.runSteps(cmd, q, in.Name, t), t.Close())
}

// run runs a statement of a load. Its rows are read and not shown, its changes count unless a transaction may still undo them.
func (t *scriptTotal) run(a *app, cmd *cobra.Command, q *queryFlags, text string) error {
	summary, err := a.stream(cmd, q, text, eachRow(func([]*pb.Value) error { return nil }))
	if err != nil {
		return err
	}
	t.statements++
	if a.tx == nil {
		t.add(summary.GetCounters())
	}
	a.printNotices(cmd.ErrOrStderr(), summary.GetNotifications())
	return nil
}
