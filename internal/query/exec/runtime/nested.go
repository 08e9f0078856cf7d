package runtime

import (
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
)

const (
	// maxNested is how deep lists and maps lie in one another: what walks through them does so by recursion.
	maxNested = 1000
	// maxCells is how many elements a value has with those of all lists and maps in it, where the memory of the statement
	// sets no other bound.
	maxCells = 1 << 26
)

// Nesting checks the values that are put into lists and maps. A list that is put into another twice takes no memory, but
// all that walks through the outer one goes over it twice: what has been doubled sixty times has no end.
type Nesting struct {
	Run *Run
	// last is the value that was measured last, which the next row often has too, and measured what came of it.
	last     unsafe.Pointer
	length   int
	measured measure
	cells    int // in the value that is being made
}

// measure is how deep a value is and how many elements it has.
type measure struct{ depth, cells int }

// Begin forgets the elements of the value that was made before.
func (n *Nesting) Begin() { n.cells = 0 }

// Add checks an element of the value that is being made.
func (n *Nesting) Add(v graph.Value) error {
	if v.Kind() != graph.List && v.Kind() != graph.Map {
		return nil
	}
	return n.addSlow(v)
}

func (n *Nesting) addSlow(v graph.Value) error {
	most := maxCells
	if bytes := n.Run.Env.Budget.Bytes; bytes > 0 {
		most = int(bytes / CellSize)
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

// walk adds a value at a depth, until there are more cells than most.
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
