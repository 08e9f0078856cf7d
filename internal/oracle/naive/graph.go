package naive

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/hopgate/hopgate/internal/query/cypher/ast"
)

// A value is nil, bool, int64, float64, string, Date, LocalTime, Duration, []any, map[string]any, *Node, *Rel or *Path.

// Node is a vertex.
type Node struct {
	Labels []string // sorted
	Props  map[string]any
	serial int
	gone   bool
}

// Rel is a relationship.
type Rel struct {
	Type     string
	Props    map[string]any
	Src, Dst *Node
	serial   int
	gone     bool
}

// Path is nodes with relationships between them; there is one more of the former.
type Path struct {
	Nodes []*Node
	Rels  []*Rel
}

// Graph is a graph with the updates that statements have made.
type Graph struct {
	Nodes []*Node
	Rels  []*Rel
	made  int

	NodesCreated, NodesDeleted, RelsCreated, RelsDeleted int
}

// Row is one row by variable.
type Row map[string]any

// Result is the answer to a statement.
type Result struct {
	Columns []string
	Rows    [][]any
}

// ErrSure reports that the statement must fail. Other errors may not occur if a statement is not evaluated as written.
var ErrSure = errors.New("naive: the statement is wrong")

// ErrUnknown reports that the evaluator does not implement a construct, or that the statement takes too long.
var ErrUnknown = errors.New("naive: unknown construct")

// failure is an error of a statement as it travels up through the evaluation.
type failure struct{ err error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func unknown(n any) { panic(failure{fmt.Errorf("%w %T", ErrUnknown, n)}) }

// Run runs a statement on the graph. After an error the graph is half changed.
func (g *Graph) Run(s *ast.Statement) (res Result, err error) {
	m := &machine{g: g, sure: &sureness{}, work: new(int)}
	defer func() {
		if p := recover(); p != nil {
			if wrong, ok := p.(runtime.Error); ok { // a statement that needs another value, or more of them
				err = fmt.Errorf("%w: %w", ErrUnknown, wrong)
				return
			}
			f, ok := p.(failure)
			if !ok {
				panic(p)
			}
			err = f.err
			if m.sure.last && m.sure.lazy == 0 && !errors.Is(err, ErrUnknown) {
				err = fmt.Errorf("%w: %w", ErrSure, err)
			}
		}
	}()
	q, ok := s.Body.(*ast.Query)
	if !ok {
		unknown(s.Body)
	}
	rows, columns := m.query(q, Row{}, Row{})
	m.sure.last = false
	if columns == nil {
		rows = nil
	}
	for _, r := range rows {
		var cells []any
		for _, c := range columns {
			cells = append(cells, r[c])
		}
		res.Rows = append(res.Rows, cells)
	}
	res.Columns = columns
	for _, r := range g.Rels {
		if r.Src.gone || r.Dst.gone {
			return res, errors.New("a deleted node has relationships")
		}
	}
	for _, row := range res.Rows {
		for _, c := range row {
			alive(c)
		}
	}
	return res, nil
}

func alive(v any) {
	switch v := v.(type) {
	case *Node:
		if v.gone {
			fail("a deleted node")
		}
	case *Rel:
		if v.gone {
			fail("a deleted relationship")
		}
	case []any:
		for _, e := range v {
			alive(e)
		}
	case *Path:
		for _, n := range v.Nodes {
			alive(n)
		}
		for _, r := range v.Rels {
			alive(r)
		}
	}
}

func (g *Graph) addNode(labels []string, props map[string]any) *Node {
	g.made++
	n := &Node{Labels: labels, Props: props, serial: g.made}
	g.Nodes = append(g.Nodes, n)
	g.NodesCreated++
	return n
}

func (g *Graph) addRel(typ string, src, dst *Node, props map[string]any) *Rel {
	if src.gone || dst.gone {
		fail("a relationship of a deleted node")
	}
	g.made++
	r := &Rel{Type: typ, Props: props, Src: src, Dst: dst, serial: g.made}
	g.Rels = append(g.Rels, r)
	g.RelsCreated++
	return r
}

func (g *Graph) removeRel(r *Rel) {
	if !r.gone {
		r.gone = true
		g.RelsDeleted++
		g.Rels = slices.DeleteFunc(g.Rels, func(o *Rel) bool { return o == r })
	}
}

func (g *Graph) removeNode(n *Node, detach bool) {
	if detach && !n.gone {
		for _, r := range slices.Clone(g.Rels) {
			if r.Src == n || r.Dst == n {
				g.removeRel(r)
			}
		}
	}
	if !n.gone {
		n.gone = true
		g.NodesDeleted++
		g.Nodes = slices.DeleteFunc(g.Nodes, func(o *Node) bool { return o == n })
	}
}
