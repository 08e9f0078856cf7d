package main

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/client"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/shell"
)

// app holds the state that all commands share: the common flags, and the statement that errors refer to.
type app struct {
	client.Server
	verbose     bool
	statement   string     // as sent to the server
	step        shell.Step // the step that contains the statement
	script      string     // the name of the running script, or ""
	sourced     int        // how many scripts are nested
	interactive bool       // the shell reads from a terminal
	tx          *shellTx   // the open transaction of the shell, or nil
}

// report prints an error as one line; --verbose adds details.
func (a *app) report(w io.Writer, err error) {
	var remote interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &remote) {
		fmt.Fprintln(w, a.inScript(graph.Pos{})+cli.OneLine(err.Error()))
		return
	}
	st := remote.GRPCStatus()
	info := errorInfo(st)
	if info == nil {
		fmt.Fprintln(w, a.inScript(graph.Pos{})+a.trouble(st))
		return
	}
	pos, placed := position(info)
	place := ""
	if at := a.inStep(pos); placed && a.script == "" {
		place = fmt.Sprintf(" (line %d, column %d)", at.Line, at.Column)
	}
	fmt.Fprintf(w, "%s%s: %s%s\n", a.inScript(pos), red.on(w, info.GetReason()), cli.OneLine(parse.Unlocated(st.Message())), place)
	if placed && a.statement != "" && (a.verbose || a.interactive) {
		fmt.Fprintln(w, parse.Caret(a.statement, pos))
	}
	if !a.verbose {
		return
	}
	m := info.GetMetadata()
	fmt.Fprintf(w, "type %s, phase %s, detail %s\n", m["type"], m["phase"], m["detail"])
}

// trouble describes a failure of the connection.
func (a *app) trouble(st *status.Status) string {
	switch st.Code() {
	case codes.Unavailable:
		return fmt.Sprintf("the server at %s cannot be reached (--address): %s", a.Address, cli.OneLine(st.Message()))
	case codes.DeadlineExceeded:
		return fmt.Sprintf("no answer within %v (--timeout)", a.Timeout)
	case codes.Canceled:
		return "cancelled"
	}
	return st.Code().String() + ": " + cli.OneLine(st.Message())
}

func errorInfo(st *status.Status) *errdetails.ErrorInfo {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == "hopgate" {
			return info
		}
	}
	return nil
}

// inScript starts a message with the position in the running script, if any. pos is a position in the statement, or zero.
func (a *app) inScript(pos graph.Pos) string {
	if a.script == "" {
		return "graphctl: "
	}
	at := a.inStep(pos)
	return fmt.Sprintf("graphctl: %s:%d:%d: ", a.script, at.Line, at.Column)
}

// inStep converts a position in the statement to one in the text of the whole step.
func (a *app) inStep(pos graph.Pos) graph.Pos {
	switch at := a.step.At; {
	case pos.Line == 0:
		return at
	case at.Line == 0:
		return pos
	case pos.Line == 1:
		return graph.Pos{Line: at.Line, Column: at.Column + pos.Column - 1}
	default:
		return graph.Pos{Line: at.Line + pos.Line - 1, Column: pos.Column}
	}
}

func position(info *errdetails.ErrorInfo) (graph.Pos, bool) {
	var p graph.Pos
	m := info.GetMetadata()
	n, err := fmt.Sscan(m["line"]+" "+m["column"]+" "+m["offset"], &p.Line, &p.Column, &p.Offset)
	return p, err == nil && n == 3
}
