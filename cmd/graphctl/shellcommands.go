package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
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
		return q.setParam(rest)
	case ":params":
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
		a.graph = rest
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

// setParam sets a parameter by NAME => VALUE.
func (q *queryFlags) setParam(text string) error {
	name, value, ok := strings.Cut(text, "=>")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || value == "" {
		return cli.Usagef(":param: must be :param NAME => VALUE")
	}
	v, err := paramValue(value)
	if err != nil {
		return cli.Usagef(":param %s: %v in %s", name, err, value)
	}
	if q.set == nil {
		q.set = map[string]*pb.Value{}
	}
	q.set[name] = v
	return nil
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
		fmt.Fprintf(cmd.OutOrStdout(), "%s => %s\n", name, appendJSON(nil, values[name]))
	}
	return err
}

// source runs the steps of a file.
func (a *app) source(cmd *cobra.Command, q *queryFlags, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return cli.Error{Code: cli.Usage, Err: err}
	}
	return a.runScript(cmd, q, name, string(text))
}

// runScript runs the steps of a text until one fails or is :exit. The last needs no semicolon. Errors start with the name and the position
// in the text. A name in <> means that the text is not a file; then errors of a single statement omit it.
func (a *app) runScript(cmd *cobra.Command, q *queryFlags, name, text string) error {
	steps, rest := shell.Split(text)
	if rest.Text != "" {
		steps = append(steps, rest)
	}
	if strings.HasPrefix(name, "<") && len(steps) < 2 {
		name = ""
	}
	if a.sourced == maxSourced {
		return fmt.Errorf(":source %s: more than %d files are nested", name, maxSourced)
	}
	a.sourced++
	defer func() { a.sourced-- }()
	outer := a.script
	for _, s := range steps {
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
