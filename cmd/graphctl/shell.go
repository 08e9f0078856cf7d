package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/chzyer/readline"
	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/shell"
)

// keywords are always among the completions of the shell; the names of the graph's schema are added.
var keywords = strings.Fields(`MATCH OPTIONAL WHERE RETURN WITH UNWIND ORDER BY SKIP LIMIT DISTINCT CREATE MERGE SET REMOVE DELETE DETACH
	CALL YIELD UNION EXPLAIN PROFILE SHOW INDEXES CONSTRAINTS FUNCTIONS PROCEDURES shortestPath allShortestPaths count collect`)

// terminalRows is the default limit of a table's rows on a terminal, which :max-rows and --max-rows change.
const terminalRows = 1000

// shell reads statements from a terminal, each ending with a semicolon, and runs them.
func (a *app) shell(cmd *cobra.Command, q *queryFlags) error {
	// Ctrl-C ends the command's context for good, so each statement gets a context of its own.
	signal.Reset(os.Interrupt)
	idle := make(chan os.Signal, 1)
	signal.Notify(idle, os.Interrupt)
	defer signal.Stop(idle)
	a.interactive, q.timing = true, true
	if !cmd.Flags().Changed("max-rows") {
		q.shown = terminalRows
	}
	words := append(append([]string{}, keywords...), a.names(cmd)...)
	history, err := historyFile()
	if err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "graphctl: no history is kept:", err)
	}
	rl, err := readline.NewEx(&readline.Config{
		Prompt: a.prompt(), HistoryFile: history, DisableAutoSaveHistory: true, AutoComplete: completer(words), InterruptPrompt: "^C",
	})
	if err != nil {
		return err
	}
	defer func() { _ = rl.Close() }()
	fmt.Fprintln(cmd.OutOrStdout(), "End a statement with ; and the shell with :exit or Ctrl-D. :help lists the commands.")
	return a.repl(cmd, q, rl)
}

// historyFile returns the path of the history in the XDG state directory, and creates that directory.
func historyFile() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the specification ignores relative paths
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	dir = filepath.Join(dir, "graphctl")
	return filepath.Join(dir, "history"), os.MkdirAll(dir, 0o700) //nolint:gosec // The directory is the user's own choice.
}

// lines is the source of a shell's lines.
type lines interface {
	Readline() (string, error)
	SetPrompt(prompt string)
	SaveHistory(line string) error
}

// prompt returns the prompt of the shell; a star means that a transaction is open.
func (a *app) prompt() string {
	if a.tx != nil {
		return a.Graph + "*> "
	}
	return a.Graph + "> "
}

// repl reads and runs lines until the end of input. It then rolls back an open transaction.
func (a *app) repl(cmd *cobra.Command, q *queryFlags, rl lines) error {
	defer a.closeTx()
	var text string
	interrupted := false // the last input was Ctrl-C at an empty line
	for {
		line, err := rl.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			empty := text == "" && line == ""
			if empty && interrupted {
				return nil
			}
			text, interrupted = "", empty
			rl.SetPrompt(a.prompt())
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		interrupted = false
		text += line + "\n"
		steps, rest := shell.Split(text)
		if entry := strings.TrimSpace(strings.TrimSuffix(text, rest.Text)); len(steps) > 0 {
			_ = rl.SaveHistory(strings.ReplaceAll(entry, "\n", " "))
		}
		text = rest.Text
		for _, s := range steps {
			open := a.tx != nil
			err := a.interruptible(cmd, func() error { return a.runStep(cmd, q, s) })
			if errors.Is(err, errExit) {
				return nil
			}
			if err != nil {
				a.report(cmd.ErrOrStderr(), err)
				a.script = ""
				if open && a.tx == nil {
					fmt.Fprintln(cmd.ErrOrStderr(), "graphctl: the transaction is rolled back")
				}
				break // later statements may depend on the transaction
			}
		}
		if text != "" {
			rl.SetPrompt(strings.Repeat(".", len(a.prompt())-2) + "> ")
		} else {
			rl.SetPrompt(a.prompt())
		}
	}
}

// interruptible runs a step of the shell with a context that Ctrl-C cancels.
func (a *app) interruptible(cmd *cobra.Command, step func() error) error {
	outer := cmd.Context()
	ctx, stop := signal.NotifyContext(outer, os.Interrupt)
	defer stop()
	cmd.SetContext(ctx)
	defer cmd.SetContext(outer)
	return step()
}

// names returns the names of the graph's schema for completion, or none without a server.
func (a *app) names(cmd *cobra.Command) []string {
	conn, ctx, cancel, err := a.Dial(cmd.Context())
	if err != nil {
		return nil
	}
	defer cancel()
	defer conn.Close()
	s, err := pb.NewAdminServiceClient(conn).Schema(ctx, &pb.SchemaRequest{Graph: a.Graph})
	if err != nil {
		return nil
	}
	names := s.GetProperties()
	for _, n := range s.GetLabels() {
		names = append(names, n.GetName())
	}
	for _, n := range s.GetEdgeTypes() {
		names = append(names, n.GetName())
	}
	return names
}

// completer completes the word before the cursor.
type completer []string

func (c completer) Do(line []rune, pos int) ([][]rune, int) {
	start := pos
	for start > 0 && (line[start-1] == '_' || line[start-1] >= '0' && line[start-1] <= '9' || line[start-1]|0x20 >= 'a' && line[start-1]|0x20 <= 'z') {
		start--
	}
	word := string(line[start:pos])
	if word == "" {
		return nil, 0
	}
	var out [][]rune
	for _, w := range c {
		if len(w) > len(word) && strings.EqualFold(w[:len(word)], word) {
			out = append(out, []rune(w[len(word):]))
		}
	}
	return out, len(word)
}
