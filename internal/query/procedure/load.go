package procedure

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/exec/runtime"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// addLoad adds APOC's procedures that read JSON from files and URLs.
func (r *Registry) addLoad() {
	for _, p := range []struct {
		name, arg, result, description string
		any                            bool
	}{
		{"apoc.load.json", "urlOrKeyOrBinary", "value :: MAP", "The objects of JSON values, one after the other, and of arrays of them, from what LOAD CSV may read.", false},
		{"apoc.load.jsonArray", "url", "value :: ANY", "JSON values, one after the other, and the objects of arrays, from what LOAD CSV may read.", true},
	} {
		r.addStream(p.name+"("+p.arg+" :: ANY, path = \"\" :: STRING, config = {} :: MAP) :: ("+p.result+")", p.description,
			func(ctx context.Context, c *exec.Call) (exec.Stream, error) {
				return newJSONRows(ctx, c, p.name, p.any)
			})
		r.builtin[strings.ToLower(p.name)].sig.Outside = true
	}
}

const (
	// jsonRowsAtOnce and jsonBytesAtOnce bound the rows of a portion.
	jsonRowsAtOnce, jsonBytesAtOnce = 1 << 8, 1 << 20
	// jsonGrowth is how much more memory values take than their text, about.
	jsonGrowth = 8
)

// jsonRows are the rows of apoc.load.json or jsonArray. A file is read as its rows are asked for, unless a path needs the whole value.
type jsonRows struct {
	c       *exec.Call
	name    string
	shown   string // the file
	any     bool   // rows may be values other than objects
	lenient bool   // a fault ends the rows
	path    jsonPath
	acct    runtime.Account
	file    io.ReadCloser
	read    int64 // bytes
	dec     *jsontext.Decoder
	inArray bool // of objects
	rows    [][]graph.Value
	fault   error // of a value after the rows returned last
}

func newJSONRows(ctx context.Context, c *exec.Call, name string, anyValue bool) (*jsonRows, error) {
	j := &jsonRows{c: c, name: name, any: anyValue, acct: runtime.Account{Run: c.Run, Name: "LoadJSON"}}
	if err := j.configure(); err != nil {
		return nil, err
	}
	err := j.open(ctx)
	if err != nil && !j.endsQuietly(err) {
		return nil, err
	}
	return j, nil
}

// configure reads the arguments after the first.
func (j *jsonRows) configure() (err error) {
	if v := j.c.Args[1]; v.Kind() == graph.String {
		if j.path, err = parseJSONPath(j.name, v.Str()); err != nil {
			return err
		}
	} else if !v.IsNull() {
		return badArgument(j.name, "path", "a string", v)
	}
	config, err := properties(j.name, "config", j.c.Args[2])
	if err != nil {
		return err
	}
	for _, e := range config.Map() {
		switch e.Key {
		case "failOnError":
			if e.Value.Kind() != graph.Bool {
				return badArgument(j.name, e.Key, "a boolean", e.Value)
			}
			j.lenient = !e.Value.Bool()
		case "compression": // the beginning of a file says how it is compressed
		case "headers":
			return fn.CallFailed("%s: requests have no headers of their own; load-csv-sources says what may be read", j.name)
		default:
			return fn.CallFailed("%s: there is no %s; there are compression and failOnError", j.name, e.Key)
		}
	}
	return nil
}

// open opens the file, URL or byte array of the first argument.
func (j *jsonRows) open(ctx context.Context) error {
	switch v := j.c.Args[0]; v.Kind() {
	case graph.Bytes:
		j.shown, j.file = "the byte array", io.NopCloser(bytes.NewReader(v.Bytes()))
	case graph.String:
		if j.c.Run.Env.Open == nil {
			return fn.CallFailed("%s: the server reads no files and no URLs", j.name)
		}
		var err error
		if j.file, j.shown, err = j.c.Run.Env.Open(ctx, v.Str()); err != nil {
			return fn.CallFailed("%s: %v", j.name, err)
		}
	default:
		return badArgument(j.name, "urlOrKeyOrBinary", "a URL, the path of a file or a byte array", v)
	}
	j.dec = jsontext.NewDecoder(j, jsontext.AllowDuplicateNames(true))
	return nil
}

// endsQuietly reports whether an error only ends the rows, as failOnError: false asks for faults of what is read.
func (j *jsonRows) endsQuietly(err error) bool {
	if j.lenient && graph.AsError(err).Code == "Neo.ClientError.Procedure.ProcedureCallFailed" {
		j.dec = nil
		return true
	}
	return false
}

// Read implements io.Reader for the decoder, and counts what it reads against the memory of the statement.
func (j *jsonRows) Read(p []byte) (int, error) {
	n, err := j.file.Read(p)
	j.read += int64(n)
	if e := j.acct.Grow(jsonGrowth * n); e != nil {
		return 0, e // the decoder ignores an error that comes with bytes
	}
	return n, err
}

// Close implements exec.Stream.
func (j *jsonRows) Close() {
	if j.file != nil {
		_ = j.file.Close()
		j.file = nil
	}
	j.acct.Release()
}

// Next implements exec.Stream. A fault comes after the rows before it.
func (j *jsonRows) Next(ctx context.Context) ([][]graph.Value, error) {
	j.rows = nil
	j.acct.Release()
	before := j.read
	for j.dec != nil && j.fault == nil && len(j.rows) < jsonRowsAtOnce && (len(j.rows) == 0 || j.read-before < jsonBytesAtOnce) {
		if err := j.c.Run.CheckCancel(ctx); err != nil {
			return nil, err
		}
		err := j.value(ctx)
		switch {
		case errors.Is(err, io.EOF):
			j.dec = nil
		case err != nil && !j.endsQuietly(err):
			j.fault = err
		}
	}
	if len(j.rows) == 0 {
		return nil, j.fault
	}
	return j.rows, nil
}

// value adds the rows of the next value, or of the next element of an array of objects. It returns io.EOF after the last.
func (j *jsonRows) value(ctx context.Context) error {
	if j.inArray {
		return j.element(ctx)
	}
	if len(j.path) > 0 || j.dec.PeekKind() != jsontext.KindBeginArray {
		v, err := notation.ReadJSON(j.dec)
		if err != nil {
			return j.failed(ctx, err)
		}
		return j.add(j.path.find(v))
	}
	if _, err := j.dec.ReadToken(); err != nil {
		return j.failed(ctx, err)
	}
	if j.dec.PeekKind() == jsontext.KindBeginObject {
		j.inArray = true
		return nil
	}
	var list []graph.Value
	for j.dec.PeekKind() != jsontext.KindEndArray {
		v, err := notation.ReadJSON(j.dec)
		if err != nil {
			return j.failed(ctx, err)
		}
		list = append(list, v)
	}
	if _, err := j.dec.ReadToken(); err != nil {
		return j.failed(ctx, err)
	}
	return j.add(graph.ListValue(list))
}

func (j *jsonRows) element(ctx context.Context) error {
	if j.dec.PeekKind() == jsontext.KindEndArray {
		j.inArray = false
		_, err := j.dec.ReadToken()
		return err
	}
	v, err := notation.ReadJSON(j.dec)
	if err != nil {
		return j.failed(ctx, err)
	}
	return j.addRow(v)
}

// add adds the rows of a value: itself, or the elements of a list of maps. Other lists are the result of one map, as in APOC.
func (j *jsonRows) add(v graph.Value) error {
	if v.Kind() != graph.List {
		if v.IsNull() && !j.any {
			return nil
		}
		return j.addRow(v)
	}
	list := v.List()
	switch {
	case len(list) == 0:
		return nil
	case list[0].Kind() != graph.Map && j.any:
		return j.addRow(v)
	case list[0].Kind() != graph.Map:
		return j.addRow(graph.MapValue([]graph.MapEntry{{Key: "result", Value: v}}))
	}
	for _, e := range list {
		if err := j.addRow(e); err != nil {
			return err
		}
	}
	return nil
}

func (j *jsonRows) addRow(v graph.Value) error {
	if v.Kind() != graph.Map && !j.any {
		return fn.CallFailed("%s: %s, before offset %d: a row is %s and no object; apoc.load.jsonArray returns other values too",
			j.name, j.shown, j.dec.InputOffset(), notation.Describe(v))
	}
	j.rows = append(j.rows, []graph.Value{v})
	return nil
}

// failed is the error of reading a value.
func (j *jsonRows) failed(ctx context.Context, err error) error {
	var known *graph.Error
	switch {
	case ctx.Err() != nil:
		return graph.DeadlineError(context.Cause(ctx))
	case errors.As(err, &known) && known.Kind == graph.KindBudget:
		return known
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return io.EOF
	}
	return fn.CallFailed("%s: %s: %s", j.name, j.shown, strings.TrimPrefix(err.Error(), "jsontext: "))
}
