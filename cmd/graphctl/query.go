package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/shell"
	"github.com/hopgate/hopgate/internal/size"
)

// queryFlags are the flags of commands that run statements.
type queryFlags struct {
	params  []string
	file    string
	output  string
	maxRows uint64
	stale   time.Duration
	read    bool
	claims  string               // of the caller that a statement runs as, or ""
	shown   uint64               // rows shown of a table; 0 is no limit
	timing  bool                 // tables end with the time of the statement
	answers int                  // statements that have returned rows
	set     map[string]*pb.Value // parameters set by :param, which override the flags
	total   *scriptTotal         // of a load, which shows no rows, or nil
}

func (q *queryFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVarP(&q.params, "param", "p", nil, "parameter name=value; the value is JSON, a bare word a string")
	f.StringVar(&q.file, "params", "", "JSON file of parameters")
}

func newQuery(a *app) *cobra.Command {
	var q queryFlags
	var script string
	cmd := &cobra.Command{
		Use: "query [STATEMENT]", Short: "Run openCypher statements; - reads them from standard input, none opens a shell", Args: cobra.MaximumNArgs(1),
		Aliases: []string{"shell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && script == "" && term.IsTerminal(int(os.Stdin.Fd())) {
				return a.shell(cmd, &q)
			}
			if cli.IsTerminal(cmd.OutOrStdout()) {
				q.timing = true
				if !cmd.Flags().Changed("max-rows") {
					q.shown = terminalRows
				}
			}
			switch {
			case script != "" && len(args) > 0:
				return cli.Usagef("query: give either a statement or -f FILE")
			case script != "":
				return a.inOrder(a.source(cmd, &q, script))
			case len(args) > 0 && args[0] != "-":
				if steps, rest := shell.Split(args[0]); len(steps) == 0 && rest.Text == "" {
					return a.query(cmd, &q, args[0]) // the server rejects an empty statement
				}
				return a.inOrder(a.runScript(cmd, &q, "<argument>", args[0]))
			}
			text, err := io.ReadAll(cmd.InOrStdin())
			if err != nil {
				return err
			}
			return a.inOrder(a.runScript(cmd, &q, "<stdin>", string(text)))
		},
	}
	q.add(cmd)
	cmd.Flags().StringVarP(&q.output, "output", "o", "table", "table, json, ndjson, csv, arrow or parquet")
	cmd.Flags().Uint64Var(&q.maxRows, "max-rows", 0, "largest number of rows; 0 is no limit")
	cmd.Flags().StringVarP(&script, "file", "f", "", "file of statements, each ended by a semicolon")
	cmd.Flags().DurationVar(&q.stale, "max-staleness", 0, "by how much what is read may be out of date, such as 500ms; a statement that writes fails")
	cmd.Flags().BoolVar(&q.read, "read", false, "refuse a statement that writes")
	return cmd
}

// inOrder returns the error of a script, or one if the script ends within a transaction, which is rolled back.
func (a *app) inOrder(err error) error {
	if a.tx == nil || err != nil {
		a.closeTx()
		return err
	}
	a.closeTx()
	return errors.New("a transaction was open at the end and is rolled back; :commit keeps what it did")
}

// query runs one statement and prints its rows.
func (a *app) query(cmd *cobra.Command, q *queryFlags, text string) error {
	if q.total != nil {
		return q.total.run(a, cmd, q, text)
	}
	if binary(q.output) && q.answers > 0 {
		return cli.Usagef("--output %s: holds the rows of one statement, and another one follows", q.output)
	}
	p, err := newRowPrinter(q.output, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	p.timing = q.timing
	bounded := *q
	capped := q.output == "table" && q.shown > 0 && (q.maxRows == 0 || q.maxRows > q.shown)
	if capped {
		bounded.maxRows = q.shown
	}
	summary, err := a.stream(cmd, &bounded, text, p)
	if err != nil {
		return errors.Join(err, p.w.Flush())
	}
	if capped = capped && summary.GetTruncated() && summary.GetTruncatedReason() == "max_rows"; capped {
		p.more = "--max-rows"
		if a.interactive {
			p.more = ":max-rows"
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	if len(p.fields) > 0 {
		q.answers++
	}
	if summary.GetPlan() != nil && q.output == "table" {
		printPlan(cmd.OutOrStdout(), summary.GetPlan())
	}
	a.printNotices(cmd.ErrOrStderr(), summary.GetNotifications())
	if summary.GetTruncated() && !capped {
		fmt.Fprintln(cmd.ErrOrStderr(), "graphctl: the result was truncated:", summary.GetTruncatedReason())
	}
	if q.output == "table" {
		printCounters(cmd.ErrOrStderr(), summary.GetCounters())
	}
	return nil
}

// statementText returns the statement of the command line, or reads standard input for -.
func statementText(cmd *cobra.Command, text string) (string, error) {
	if text != "-" {
		return text, nil
	}
	in, err := io.ReadAll(cmd.InOrStdin())
	return string(in), err
}

// stream runs a statement and passes its rows to the printer.
func (a *app) stream(cmd *cobra.Command, q *queryFlags, text string, p *printer) (*pb.QuerySummary, error) {
	params, err := q.values()
	if err != nil {
		return nil, err
	}
	a.statement = text
	if a.tx != nil {
		return a.runInTx(cmd.Context(), q, text, params, p)
	}
	conn, ctx, cancel, err := a.Dial(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer conn.Close()
	req := &pb.QueryRequest{Statement: text, Parameters: params, Graph: a.Graph, MaxRows: q.maxRows, AsClaims: q.claims}
	if q.read {
		req.AccessMode = pb.AccessMode_ACCESS_MODE_READ
	}
	if q.stale != 0 {
		req.MaxStaleness = durationpb.New(q.stale)
	}
	if a.Timeout > 0 {
		req.Timeout = durationpb.New(a.Timeout)
	}
	stream, err := pb.NewGraphServiceClient(conn).Query(ctx, req)
	if err != nil {
		return nil, err
	}
	return readAnswer(stream.Recv, p)
}

// readAnswer passes the rows of a response to the printer, up to the summary.
func readAnswer(recv func() (*pb.QueryResponse, error), p *printer) (*pb.QuerySummary, error) {
	for {
		part, err := recv()
		if err != nil {
			return nil, err
		}
		switch x := part.GetPart().(type) {
		case *pb.QueryResponse_Header:
			p.begin(x.Header.GetFields())
		case *pb.QueryResponse_Rows:
			if err := p.rows(x.Rows); err != nil {
				return nil, err
			}
		case *pb.QueryResponse_Summary:
			return x.Summary, nil
		}
	}
}

// values reads the parameters from the flags; -p overrides --params.
func (q *queryFlags) values() (map[string]*pb.Value, error) {
	out := map[string]*pb.Value{}
	if q.file != "" {
		data, err := os.ReadFile(q.file)
		if err != nil {
			return nil, cli.Error{Code: cli.Usage, Err: fmt.Errorf("--params: %w", err)}
		}
		v, err := parseJSON(string(data))
		if err != nil || v.GetMap() == nil {
			return nil, cli.Usagef("--params %s: must be a JSON object of parameters", q.file)
		}
		for _, e := range v.GetMap().GetEntries() {
			out[e.GetKey()] = e.GetValue()
		}
	}
	for _, p := range q.params {
		name, text, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, cli.Usagef("-p %s: must be name=value", p)
		}
		v, err := paramValue(text)
		if err != nil {
			return nil, cli.Usagef("-p %s: %v in %s", name, err, text)
		}
		out[name] = v
	}
	maps.Copy(out, q.set)
	return out, nil
}

// paramValue parses the value of -p: JSON, or a bare word, which is a string.
func paramValue(text string) (*pb.Value, error) {
	if json.Valid([]byte(text)) || text != "" && strings.ContainsRune(`{["`, rune(text[0])) {
		return parseJSON(text)
	}
	return &pb.Value{Kind: &pb.Value_String_{String_: text}}, nil
}

// parseJSON parses a JSON value. A number with a point or an exponent is a float; keys keep their order.
func parseJSON(text string) (*pb.Value, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	v, err := decodeJSON(dec)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("trailing data after the value")
		}
	}
	if err != nil {
		at := dec.InputOffset()
		var syntax *json.SyntaxError
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			at, err = int64(len(text)), errors.New("the JSON ends early")
		case errors.As(json.Unmarshal([]byte(text), &json.RawMessage{}), &syntax): // its offset is exact, unlike that of tokens
			at = max(0, syntax.Offset-1)
		}
		err = fmt.Errorf("%w, at character %d", err, utf8.RuneCountInString(text[:min(at, int64(len(text)))])+1)
	}
	return v, err
}

func decodeJSON(dec *json.Decoder) (*pb.Value, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case bool:
		return &pb.Value{Kind: &pb.Value_Boolean{Boolean: t}}, nil
	case string:
		return &pb.Value{Kind: &pb.Value_String_{String_: t}}, nil
	case json.Number:
		if strings.ContainsAny(string(t), ".eE") {
			f, err := t.Float64()
			if err != nil {
				return nil, fmt.Errorf("%s is out of the range of a float", t)
			}
			return &pb.Value{Kind: &pb.Value_Float{Float: f}}, err
		}
		i, err := t.Int64()
		if err != nil {
			return nil, fmt.Errorf("%s is out of the range of a 64-bit integer", t)
		}
		return &pb.Value{Kind: &pb.Value_Integer{Integer: i}}, err
	case json.Delim:
		if t == '[' {
			l := &pb.ListValue{}
			for dec.More() {
				v, err := decodeJSON(dec)
				if err != nil {
					return nil, err
				}
				l.Values = append(l.Values, v)
			}
			_, err := dec.Token()
			return &pb.Value{Kind: &pb.Value_List{List: l}}, err
		}
		m := &pb.MapValue{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := decodeJSON(dec)
			if err != nil {
				return nil, err
			}
			m.Entries = append(m.Entries, &pb.MapEntry{Key: fmt.Sprint(key), Value: v})
		}
		_, err := dec.Token()
		return &pb.Value{Kind: &pb.Value_Map{Map: m}}, err
	}
	return &pb.Value{}, nil
}

func printCounters(w io.Writer, c *pb.Counters) {
	if c.GetContainsUpdates() {
		fmt.Fprintln(w, countersText(c))
	}
}

// countersText lists what statements have changed.
func countersText(c *pb.Counters) string {
	var parts []string
	for _, x := range []struct {
		n          uint64
		noun, done string
	}{
		{c.GetNodesCreated(), "vertex", "created"},
		{c.GetNodesDeleted(), "vertex", "deleted"},
		{c.GetRelationshipsCreated(), "edge", "created"},
		{c.GetRelationshipsDeleted(), "edge", "deleted"},
		{c.GetPropertiesSet(), "property", "set"},
		{c.GetLabelsAdded(), "label", "added"},
		{c.GetLabelsRemoved(), "label", "removed"},
		{c.GetIndexesAdded(), "index", "added"},
		{c.GetIndexesRemoved(), "index", "removed"},
		{c.GetConstraintsAdded(), "constraint", "added"},
		{c.GetConstraintsRemoved(), "constraint", "removed"},
	} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", size.Count(x.n, x.noun), x.done))
		}
	}
	return strings.Join(parts, ", ")
}
