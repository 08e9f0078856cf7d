package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/shell"
)

// app holds the state that all commands share: the common flags, and the statement that errors refer to.
type app struct {
	address, graph, token     string
	tls                       bool
	caFile, certFile, keyFile string
	timeout                   time.Duration
	verbose                   bool
	statement                 string     // as sent to the server
	step                      shell.Step // the step that contains the statement
	script                    string     // the name of the running script, or ""
	sourced                   int        // how many scripts are nested
	interactive               bool       // the shell reads from a terminal
	tx                        *shellTx   // the open transaction of the shell, or nil
}

// dial connects to the server. It returns a context with the deadline and the token of the flags.
func (a *app) dial(ctx context.Context) (*grpc.ClientConn, context.Context, context.CancelFunc, error) {
	if a.timeout < 0 {
		return nil, nil, nil, cli.Usagef("--timeout %v: must not be negative", a.timeout)
	}
	creds := insecure.NewCredentials()
	if a.tls || a.caFile != "" || a.certFile != "" {
		c, err := a.tlsConfig()
		if err != nil {
			return nil, nil, nil, cli.Error{Code: cli.Usage, Err: err}
		}
		creds = credentials.NewTLS(c)
	}
	opts := []grpc.DialOption{grpc.WithTransportCredentials(creds), grpc.WithInitialWindowSize(1 << 20), grpc.WithInitialConnWindowSize(4 << 20)}
	if a.token != "" {
		opts = append(opts, grpc.WithPerRPCCredentials(bearer{a.token, a.tls}))
	}
	conn, err := grpc.NewClient(a.address, opts...)
	if err != nil {
		return nil, nil, nil, cli.Error{Code: cli.Usage, Err: fmt.Errorf("--address %s: %w", a.address, err)}
	}
	cancel := context.CancelFunc(func() {})
	if a.timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, a.timeout)
	}
	return conn, ctx, cancel, nil
}

func (a *app) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if a.caFile != "" {
		pem, err := os.ReadFile(a.caFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--tls-ca: %s holds no certificate", a.caFile)
		}
	}
	if a.certFile != "" {
		pair, err := tls.LoadX509KeyPair(a.certFile, a.keyFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// bearer adds a token to every call.
type bearer struct {
	token  string
	secure bool
}

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

func (b bearer) RequireTransportSecurity() bool { return b.secure }

// report prints an error as one line; --verbose adds details.
func (a *app) report(w io.Writer, err error) {
	var remote interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &remote) {
		fmt.Fprintln(w, a.inScript(graph.Pos{})+cli.OneLine(oneSuggestion(err.Error())))
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
		return fmt.Sprintf("the server at %s cannot be reached (--address): %s", a.address, cli.OneLine(st.Message()))
	case codes.DeadlineExceeded:
		return fmt.Sprintf("no answer within %v (--timeout)", a.timeout)
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
