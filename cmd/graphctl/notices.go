package main

import (
	"fmt"
	"io"
	"strings"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
)

// printNotices prints warnings about likely mistakes and slow constructs in the statement.
func (a *app) printNotices(w io.Writer, list []*pb.Notification) {
	for _, n := range list {
		at := n.GetPosition()
		pos := graph.Pos{Offset: int(at.GetOffset()), Line: int(at.GetLine()), Column: int(at.GetColumn())}
		place := ""
		if in := a.inStep(pos); at != nil && a.script == "" {
			place = fmt.Sprintf(" (line %d, column %d)", in.Line, in.Column)
		}
		text := n.GetDescription()
		if s := n.GetSuggestion(); !strings.Contains(text, s) {
			text += "; suggested: " + s
		}
		fmt.Fprintf(w, "%s%s: %s%s\n", a.inScript(pos), yellow.on(w, strings.ToLower(n.GetSeverity())), visible(cli.OneLine(text)), place)
		if at != nil && a.statement != "" && (a.verbose || a.interactive) {
			fmt.Fprintln(w, parse.Caret(a.statement, pos))
		}
	}
}
