package query

import (
	"context"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/fn"
	"github.com/hopgate/hopgate/internal/shard"
)

// procedure is a procedure with its signature.
type procedure struct {
	sig         cypher.Signature
	description string
	call        func(ctx context.Context, g shard.Graph, tx shard.Tx, args []graph.Value) ([][]graph.Value, error)
}

// procedures are the procedures that CALL knows, by name in lower case.
type procedures struct {
	builtin map[string]*procedure
	version atomic.Uint64
	mu      sync.RWMutex
	test    map[string]*procedure
}

// Procedure finds a procedure for the executor.
func (ps *procedures) Procedure(name string) (exec.Procedure, bool) {
	p := ps.find(name)
	if p == nil {
		return exec.Procedure{}, false
	}
	x := exec.Procedure{Call: p.call}
	for _, f := range p.sig.Params {
		x.Args = append(x.Args, f.Name)
	}
	for _, f := range p.sig.Results {
		x.Results = append(x.Results, f.Name)
	}
	return x, true
}

// signature finds a procedure for the front end.
func (ps *procedures) signature(name string) (cypher.Signature, bool) {
	p := ps.find(name)
	if p == nil {
		return cypher.Signature{}, false
	}
	return p.sig, true
}

func (ps *procedures) find(name string) *procedure {
	name = strings.ToLower(name)
	if p := ps.builtin[name]; p != nil {
		return p
	}
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	return ps.test[name]
}

// names gives the names of the procedures that are always there and that can be called.
func (ps *procedures) names() []string {
	out := make([]string, 0, len(ps.builtin))
	for _, p := range ps.builtin {
		if !strings.HasPrefix(p.sig.Name, "show.") {
			out = append(out, p.sig.Name)
		}
	}
	return out
}

// TestProcedure is a procedure made of a table: a call yields the output columns of the rows whose input columns equal
// its arguments.
type TestProcedure struct {
	Signature string // test.my.proc(in :: INTEGER?) :: (out :: STRING?)
	Columns   []string
	Rows      [][]graph.Value
}

// SetTestProcedures replaces all test procedures.
func (e *Engine) SetTestProcedures(ts []TestProcedure) error {
	test := map[string]*procedure{}
	for _, t := range ts {
		p, err := t.procedure()
		if err != nil {
			return err
		}
		test[strings.ToLower(p.sig.Name)] = p
	}
	e.procs.mu.Lock()
	e.procs.test = test
	e.procs.mu.Unlock()
	e.procs.version.Add(1)
	return nil
}

func (t *TestProcedure) procedure() (*procedure, error) {
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
		return &procedure{sig: sig, call: func(context.Context, shard.Graph, shard.Tx, []graph.Value) ([][]graph.Value, error) { return nil, nil }}, nil
	}
	in, err := at(sig.Params)
	if err != nil {
		return nil, err
	}
	out, err := at(sig.Results)
	if err != nil {
		return nil, err
	}
	return &procedure{sig: sig, call: func(_ context.Context, _ shard.Graph, _ shard.Tx, args []graph.Value) ([][]graph.Value, error) {
		var rows [][]graph.Value
		for _, r := range t.Rows {
			same := true
			for i, c := range in {
				same = same && fn.Equivalent(r[c], args[i])
			}
			if !same {
				continue
			}
			row := make([]graph.Value, len(out))
			for i, c := range out {
				row[i] = r[c]
			}
			rows = append(rows, row)
		}
		return rows, nil
	}}, nil
}

var signaturePattern = regexp.MustCompile(`^\s*([\w.]+)\s*\(([^)]*)\)\s*::\s*\(([^)]*)\)\s*$`)

// parseSignature reads name(arg :: TYPE, …) :: (result :: TYPE, …).
func parseSignature(s string) (cypher.Signature, error) {
	m := signaturePattern.FindStringSubmatch(s)
	if m == nil {
		return cypher.Signature{}, fmt.Errorf("procedures: %q is no signature", s)
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
			if name, value, ok := strings.Cut(f.Name, " = "); ok {
				n, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					return nil, fmt.Errorf("procedures: %q: the default %q is no integer", s, value)
				}
				f.Name, f.Default = name, &n
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

// Version is the program's version, as the build says it.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// Commit is the revision that the program was built from, if the build says it.
func Commit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
}
