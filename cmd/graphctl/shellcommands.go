package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/shell"
)

// maxSourced bounds the nesting of scripts, so that a script that sources itself ends.
const maxSourced = 16

// errExit ends the shell or the script that contains the command.
var errExit = errors.New("exit")

const shellHelp = `:begin [read]        open a transaction; :commit and :rollback end it
:param NAME => VALUE  set a parameter; the value is JSON, a bare word a string
:params               list the parameters; :params clear removes those of :param
:schema               show labels, edge types, properties, indexes and constraints
:use GRAPH            go to another graph
:mode FORM            print rows as table, json, ndjson or csv
:timing on|off        end tables with the time that the statement took
:max-rows N           show at most N rows of a table; 0 is all
:source FILE          run the statements of a file
:exit                 leave the shell, as exit, quit and Ctrl-D do
Ctrl-C ends the running statement or clears the line; twice at an empty line it leaves.
`

// colon runs a command of the shell.
func (a *app) colon(cmd *cobra.Command, q *queryFlags, command string) error {
	name, rest, _ := strings.Cut(command, " ")
	rest = strings.TrimSpace(rest)
	one := func(what string) error {
		if rest == "" {
			return cli.Usagef("%s: name %s", name, what)
		}
		return nil
	}
	switch name {
	case ":begin", ":commit", ":rollback":
		return a.txCommand(cmd, q, strings.Fields(command))
	case ":exit":
		return errExit
	case ":help":
		fmt.Fprint(cmd.OutOrStdout(), shellHelp)
	case ":param":
		return a.setParam(cmd, q, command)
	case ":params":
		if strings.HasPrefix(rest, "{") {
			return a.setParam(cmd, q, command)
		}
		return a.listParams(cmd, q, rest)
	case ":schema":
		schema := newSchema(a)
		schema.SetOut(cmd.OutOrStdout())
		schema.SetErr(cmd.ErrOrStderr())
		schema.SetArgs([]string{})
		schema.SilenceErrors, schema.SilenceUsage = true, true
		return schema.ExecuteContext(cmd.Context())
	case ":use":
		if a.tx != nil {
			return errors.New(":use: a transaction is open; :commit or :rollback ends it")
		}
		if err := one("a graph"); err != nil {
			return err
		}
		a.Graph = rest
	case ":mode":
		if _, err := newPrinter(rest, cmd.OutOrStdout()); err != nil {
			return cli.Usagef(":mode %s: must be table, json, ndjson or csv", rest)
		}
		q.output = rest
	case ":timing":
		if rest != "on" && rest != "off" {
			return cli.Usagef(":timing %s: must be on or off", rest)
		}
		q.timing = rest == "on"
	case ":max-rows":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return cli.Usagef(":max-rows %s: must be a number of rows; 0 is all", rest)
		}
		q.shown, q.maxRows = uint64(n), 0
	case ":source":
		if err := one("a file"); err != nil {
			return err
		}
		return a.source(cmd, q, rest)
	default:
		return cli.Usagef("%s: no such command; :help lists them", name)
	}
	return nil
}

// setParam sets a parameter by :param NAME => VALUE, or several by :param {NAME: VALUE, …}.
func (a *app) setParam(cmd *cobra.Command, q *queryFlags, command string) error {
	_, rest, _ := strings.Cut(command, " ")
	if q.set == nil {
		q.set = map[string]*pb.Value{}
	}
	if all := strings.TrimSpace(rest); strings.HasPrefix(all, "{") {
		v, err := a.evaluate(cmd, q, command, all)
		for _, e := range v.GetMap().GetEntries() {
			q.set[e.GetKey()] = e.GetValue()
		}
		return err
	}
	name, value, ok := strings.Cut(rest, "=>")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || value == "" {
		return cli.Usagef(":param: must be :param NAME => VALUE")
	}
	v, err := paramValue(value)
	if (err != nil || v.GetString_() == value) && strings.ContainsAny(value, `'"[{(`) { // neither JSON nor a bare word
		if v, err = a.evaluate(cmd, q, command, value); err != nil {
			return err
		}
	}
	if err != nil {
		return cli.Usagef(":param %s: %v in %s", name, err, value)
	}
	q.set[name] = v
	return nil
}

// evaluate has the server evaluate the expression with which a command ends.
func (a *app) evaluate(cmd *cobra.Command, q *queryFlags, command, expression string) (v *pb.Value, err error) {
	// The expression keeps its place in the line, to which errors refer.
	const verb = "RETURN"
	before := utf8.RuneCountInString(command) - utf8.RuneCountInString(expression)
	statement := verb + strings.Repeat(" ", max(1, before-len(verb))) + expression + " AS value"
	_, err = a.stream(cmd, q, statement, eachRow(func(cells []*pb.Value) error {
		v = cells[0]
		return nil
	}))
	return v, err
}

// listParams lists the parameters, or removes those set by :param.
func (a *app) listParams(cmd *cobra.Command, q *queryFlags, rest string) error {
	switch rest {
	case "":
	case "clear":
		q.set = nil
		return nil
	default:
		return cli.Usagef(":params %s: must be :params or :params clear", rest)
	}
	values, err := q.values()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(cmd.OutOrStdout(), "%s => %s\n", name, answer.AppendJSON(nil, values[name]))
	}
	return err
}

// source runs the steps of a file.
func (a *app) source(cmd *cobra.Command, q *queryFlags, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	defer func() { _ = f.Close() }()
	return a.runSteps(cmd, q, name, f)
}

// runScript runs the steps of a text that is not a file. Errors of a single statement omit the name.
func (a *app) runScript(cmd *cobra.Command, q *queryFlags, name, text string) error {
	if steps, rest := shell.Split(text); len(steps) == 0 || len(steps) == 1 && rest.Text == "" {
		name = ""
	}
	return a.runSteps(cmd, q, name, strings.NewReader(text))
}

// runSteps runs the steps of a script until one fails or is :exit. Errors start with the name and the position in the script.
func (a *app) runSteps(cmd *cobra.Command, q *queryFlags, name string, r io.Reader) error {
	if a.sourced == maxSourced {
		return fmt.Errorf(":source %s: more than %d files are nested", name, maxSourced)
	}
	a.sourced++
	defer func() { a.sourced-- }()
	outer := a.script
	for s, err := range shell.Steps(r) {
		if err != nil {
			return err
		}
		a.script = name
		if err := a.runStep(cmd, q, s); errors.Is(err, errExit) {
			break
		} else if err != nil {
			return err
		}
	}
	a.script = outer
	return nil
}

// runStep runs a statement or a command of the shell.
func (a *app) runStep(cmd *cobra.Command, q *queryFlags, s shell.Step) error {
	a.step, a.statement = s, ""
	if s.Command {
		return a.colon(cmd, q, s.Text)
	}
	return a.query(cmd, q, s.Text)
}
