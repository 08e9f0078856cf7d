package runtime

import (
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/memory"
)

const (
	// maxNested bounds the nesting of lists and maps, because code that walks through them recurses.
	maxNested = 1000
	// maxCells bounds the elements of a value, including those of nested lists and maps, if the statement's memory sets no
	// lower bound.
	maxCells = 1 << 26
)

// Nesting checks values that become elements of lists and maps. A list that is put into another twice takes no memory, but code
// that walks through the outer list visits it twice: a value that has been doubled sixty times never ends.
type Nesting struct {
	Run *Run
	// last is the value that was measured last, which the next row often repeats, and measured its measure.
	last     unsafe.Pointer
	length   int
	measured measure
	cells    int // in the value under construction
}

// measure is the depth of a value and its number of elements.
type measure struct{ depth, cells int }

// Begin starts a new value.
func (n *Nesting) Begin() { n.cells = 0 }

// Add checks an element of the value under construction.
func (n *Nesting) Add(v graph.Value) error {
	if v.Kind() != graph.List && v.Kind() != graph.Map {
		return nil
	}
	return n.addSlow(v)
}

func (n *Nesting) addSlow(v graph.Value) error {
	most := maxCells
	if bytes := n.Run.Env.Budget.Bytes; bytes > 0 {
		most = int(bytes / memory.CellSize)
	}
	var at unsafe.Pointer
	var length int
	if v.Kind() == graph.List {
		at, length = unsafe.Pointer(unsafe.SliceData(v.List())), len(v.List())
	} else {
		at, length = unsafe.Pointer(unsafe.SliceData(v.Map())), len(v.Map())
	}
	if at != n.last || length != n.length {
		n.last, n.length, n.measured = at, length, measure{}
		n.measured.walk(v, 1, most)
	}
	if n.measured.depth >= maxNested {
		return graph.BudgetError("lists and maps would be nested more than %d deep", maxNested)
	}
	if n.cells += n.measured.cells; n.cells > most {
		return graph.BudgetError("a list or map would have more than %d elements, with those of the lists and maps in it", most)
	}
	return nil
}

// walk adds a value at a depth, until the cells exceed most.
func (m *measure) walk(v graph.Value, depth, most int) {
	m.depth = max(m.depth, depth)
	if v.Kind() == graph.List {
		m.cells += len(v.List())
		for _, e := range v.List() {
			if Nests(e) && m.cells <= most {
				m.walk(e, depth+1, most)
			}
		}
		return
	}
	m.cells += len(v.Map())
	for _, e := range v.Map() {
		if Nests(e.Value) && m.cells <= most {
			m.walk(e.Value, depth+1, most)
		}
	}
}

// Nests reports whether a value is a list or a map.
func Nests(v graph.Value) bool { return v.Kind() == graph.List || v.Kind() == graph.Map }
