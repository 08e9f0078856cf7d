package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/chzyer/readline"
	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// keywords begin the completions of the shell; labels, types and properties of the graph are added.
var keywords = strings.Fields(`MATCH OPTIONAL WHERE RETURN WITH UNWIND ORDER BY SKIP LIMIT DISTINCT CREATE MERGE SET REMOVE DELETE DETACH
	CALL YIELD UNION EXPLAIN PROFILE SHOW INDEXES CONSTRAINTS FUNCTIONS PROCEDURES shortestPath allShortestPaths count collect`)

// shell reads statements, each up to a semicolon, and runs them.
func (a *app) shell(cmd *cobra.Command, q *queryFlags) error {
	history := ""
	if dir, err := os.UserCacheDir(); err == nil {
		history = filepath.Join(dir, "graphctl_history")
	}
	words := append(append([]string{}, keywords...), a.names(cmd)...)
	rl, err := readline.NewEx(&readline.Config{
		Prompt: a.prompt(), HistoryFile: history, DisableAutoSaveHistory: true, AutoComplete: completer(words), InterruptPrompt: "^C",
	})
	if err != nil {
		return err
	}
	defer func() { _ = rl.Close() }()
	fmt.Fprintln(cmd.OutOrStdout(), "End a statement with ; and the shell with Ctrl-D. :begin opens a transaction.")
	return a.repl(cmd, q, rl)
}

// lines is where a shell's lines come from.
type lines interface {
	Readline() (string, error)
	SetPrompt(prompt string)
	SaveHistory(line string) error
}

// prompt is how the shell asks for a statement; a star says that a transaction is open.
func (a *app) prompt() string {
	if a.tx != nil {
		return a.graph + "*> "
	}
	return a.graph + "> "
}

// repl runs what it reads, to the end of it. A transaction that is open then is rolled back.
func (a *app) repl(cmd *cobra.Command, q *queryFlags, rl lines) error {
	defer a.closeTx()
	var text []string
	for {
		line, err := rl.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			text = nil
			rl.SetPrompt(a.prompt())
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if len(text) == 0 && strings.TrimSpace(line) == "" {
			continue
		}
		if command := strings.TrimSpace(line); len(text) == 0 && strings.HasPrefix(command, ":") {
			_ = rl.SaveHistory(command)
			if err := a.txCommand(cmd, strings.Fields(strings.TrimSuffix(command, ";"))); err != nil {
				a.report(cmd.ErrOrStderr(), err)
			}
			rl.SetPrompt(a.prompt())
			continue
		}
		text = append(text, line)
		if !strings.HasSuffix(strings.TrimSpace(line), ";") {
			rl.SetPrompt(strings.Repeat(".", len(a.prompt())-2) + "> ")
			continue
		}
		statement := strings.TrimSuffix(strings.TrimSpace(strings.Join(text, "\n")), ";")
		_ = rl.SaveHistory(strings.Join(text, " "))
		text = nil
		open := a.tx != nil
		if err := a.query(cmd, q, statement); err != nil {
			a.report(cmd.ErrOrStderr(), err)
		}
		if open && a.tx == nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "graphctl: the transaction is rolled back")
		}
		rl.SetPrompt(a.prompt())
	}
}

// names gives the names of the graph's schema for completion; without a server there are none.
func (a *app) names(cmd *cobra.Command) []string {
	conn, ctx, cancel, err := a.dial(cmd.Context())
	if err != nil {
		return nil
	}
	defer cancel()
	defer conn.Close()
	s, err := pb.NewAdminServiceClient(conn).Schema(ctx, &pb.SchemaRequest{Graph: a.graph})
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
