package procedure

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fn"
)

// run returns the rows of one call.
type run func(ctx context.Context, c *exec.Call) ([][]graph.Value, error)

// procedure is a procedure with its signature.
type procedure struct {
	sig         cypher.Signature
	description string
	run         run
	table       func(ctx context.Context, c *exec.Call) (*exec.Table, error) // in place of run, or nil
	stream      func(ctx context.Context, c *exec.Call) (exec.Stream, error) // likewise
}

// Registry are the procedures that CALL and SHOW know. It is safe for concurrent use.
type Registry struct {
	host    Host
	builtin map[string]*procedure // by name in lower case
	version atomic.Uint64
	virtual atomic.Uint64 // see nextVirtual
	mu      sync.RWMutex
	test    map[string]*procedure
}

// New returns the registry of an engine.
func New(host Host) *Registry {
	r := &Registry{host: host, builtin: map[string]*procedure{}}
	r.addSchema()
	r.addShow()
	r.addServer()
	r.addTransactions()
	r.addMeta()
	r.addMerge()
	r.addCreate()
	r.addCypher()
	r.addRefactor()
	r.addPeriodic()
	r.addExpansions()
	r.addLoad()
	r.addAssert()
	r.addAlgorithms()
	r.addVectors()
	r.addFullText()
	r.addRequests()
	r.addOperations()
	r.addQuotas()
	r.addChanges()
	return r
}

// add adds a procedure that reads.
func (r *Registry) add(signature, description string, f run) {
	sig, err := parseSignature(signature)
	if err != nil {
		panic(err)
	}
	r.builtin[strings.ToLower(sig.Name)] = &procedure{sig: sig, description: description, run: f}
}

// addStream adds a procedure that reads and returns its rows as they are asked for.
func (r *Registry) addStream(signature, description string, f func(ctx context.Context, c *exec.Call) (exec.Stream, error)) {
	r.add(signature, description, nil)
	name, _, _ := strings.Cut(signature, "(")
	r.builtin[strings.ToLower(name)].stream = f
}

// addWrite adds a procedure that changes the graph by statements.
func (r *Registry) addWrite(signature, description string, f run) {
	r.add(signature, description, f)
	name, _, _ := strings.Cut(signature, "(")
	sig := &r.builtin[strings.ToLower(name)].sig
	sig.Writes, sig.Calls = true, true
}

// addDefine adds a procedure that changes the definitions of the graph, and runs no statement.
func (r *Registry) addDefine(signature, description string, f run) {
	r.add(signature, description, f)
	name, _, _ := strings.Cut(signature, "(")
	r.builtin[strings.ToLower(name)].sig.Writes = true
}

// Procedure finds a procedure for the executor.
func (r *Registry) Procedure(name string) (exec.Procedure, bool) {
	p := r.find(name)
	if p == nil {
		return exec.Procedure{}, false
	}
	x := exec.Procedure{Run: p.run, Table: p.table, Stream: p.stream}
	for _, f := range p.sig.Params {
		x.Args = append(x.Args, f.Name)
		x.Integers = append(x.Integers, strings.HasPrefix(f.Type, "INTEGER"))
	}
	for _, f := range p.sig.Results {
		x.Results = append(x.Results, f.Name)
	}
	return x, true
}

// Signature finds a procedure for the front end.
func (r *Registry) Signature(name string) (cypher.Signature, bool) {
	p := r.find(name)
	if p == nil {
		return cypher.Signature{}, false
	}
	return p.sig, true
}

func (r *Registry) find(name string) *procedure {
	name = strings.ToLower(name)
	if p := r.builtin[name]; p != nil {
		return p
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.test[name]
}

// Names returns the names of the procedures that are always there and that CALL may name.
func (r *Registry) Names() []string {
	out := make([]string, 0, len(r.builtin))
	for _, p := range r.builtin {
		if !p.list() {
			out = append(out, p.sig.Name)
		}
	}
	return out
}

// list reports whether a procedure implements a list of SHOW.
func (p *procedure) list() bool { return strings.HasPrefix(p.sig.Name, "show.") }

// Version grows with every change of the procedures.
func (r *Registry) Version() uint64 { return r.version.Load() }

// Table is a procedure for tests, made of a table: a call yields the output columns of the rows whose input columns equal its
// arguments.
type Table struct {
	Signature string // test.my.proc(in :: INTEGER?) :: (out :: STRING?)
	Columns   []string
	Rows      [][]graph.Value
}

// SetTables replaces all procedures that are tables.
func (r *Registry) SetTables(ts []Table) error {
	test := map[string]*procedure{}
	for _, t := range ts {
		p, err := t.procedure()
		if err != nil {
			return err
		}
		test[strings.ToLower(p.sig.Name)] = p
	}
	r.mu.Lock()
	r.test = test
	r.mu.Unlock()
	r.version.Add(1)
	return nil
}

func (t *Table) procedure() (*procedure, error) {
	sig, err := parseSignature(t.Signature)
	if err != nil {
		return nil, err
	}
	at := func(fs []cypher.Field) ([]int, error) {
		out := make([]int, len(fs))
		for i, f := range fs {
			if out[i] = slices.Index(t.Columns, f.Name); out[i] < 0 {
				return nil, fmt.Errorf("procedure %s: no column %q", sig.Name, f.Name)
			}
		}
		return out, nil
	}
	// A table without rows need not name its columns.
	if len(t.Rows) == 0 {
		return &procedure{sig: sig, run: func(context.Context, *exec.Call) ([][]graph.Value, error) { return nil, nil }}, nil
	}
	in, err := at(sig.Params)
	if err != nil {
		return nil, err
	}
	out, err := at(sig.Results)
	if err != nil {
		return nil, err
	}
	return &procedure{sig: sig, run: func(_ context.Context, c *exec.Call) ([][]graph.Value, error) {
		var rows [][]graph.Value
		for _, r := range t.Rows {
			same := true
			for i, col := range in {
				same = same && fn.Equivalent(r[col], c.Args[i])
			}
			if !same {
				continue
			}
			row := make([]graph.Value, len(out))
			for i, col := range out {
				row[i] = r[col]
			}
			rows = append(rows, row)
		}
		return rows, nil
	}}, nil
}

var signaturePattern = regexp.MustCompile(`^\s*([\w.]+)\s*\(([^)]*)\)\s*::\s*\(([^)]*)\)\s*$`)

// parseSignature parses name(arg = default :: TYPE, …) :: (result :: TYPE, …). SHOW returns a result with a + before its name only
// with YIELD.
func parseSignature(s string) (cypher.Signature, error) {
	m := signaturePattern.FindStringSubmatch(s)
	if m == nil {
		return cypher.Signature{}, fmt.Errorf("procedures: %q is not a signature", s)
	}
	sig := cypher.Signature{Name: m[1]}
	fields := func(list string) (fs []cypher.Field, err error) {
		if strings.TrimSpace(list) == "" {
			return nil, nil
		}
		for part := range strings.SplitSeq(list, ",") {
			name, typ, ok := strings.Cut(part, "::")
			if !ok {
				return nil, fmt.Errorf("procedures: %q: %q has no type", s, strings.TrimSpace(part))
			}
			f := cypher.Field{Name: strings.TrimSpace(name), Type: strings.TrimSpace(typ)}
			f.Name, f.Extra = strings.CutPrefix(f.Name, "+")
			if name, value, ok := strings.Cut(f.Name, " = "); ok {
				v, err := defaultValue(value)
				if err != nil {
					return nil, fmt.Errorf("procedures: %q: %w", s, err)
				}
				f.Name, f.Default = name, &v
			}
			fs = append(fs, f)
		}
		return fs, nil
	}
	var err error
	if sig.Params, err = fields(m[2]); err != nil {
		return sig, err
	}
	sig.Results, err = fields(m[3])
	return sig, err
}

// defaultValue reads the default of a parameter: a number, a quoted string without commas, a truth value, null, {} or [].
func defaultValue(s string) (graph.Value, error) {
	switch s {
	case "{}":
		return graph.MapValue(nil), nil
	case "[]":
		return graph.ListValue(nil), nil
	case "null":
		return graph.Value{}, nil
	case "true", "false":
		return graph.BoolValue(s == "true"), nil
	}
	if t, err := strconv.Unquote(s); err == nil {
		return graph.StringValue(t), nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return graph.Value{}, fmt.Errorf("%q is not a default", s)
	}
	return graph.IntValue(n), nil
}
