package fn

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/vector"
)

// Context is the part of the statement that functions see beside their arguments. One Context serves one goroutine.
type Context struct {
	Statement   time.Time      // when the statement began
	Transaction time.Time      // when its transaction began
	Zone        *time.Location // the default zone, nil for UTC
	Rand        *rand.Rand     // for rand() and randomUUID(), nil for the process's own source
	Regexps     Regexps        // compiled patterns
	MaxList     int64          // the longest list that a function may build from less, 0 for the default
	// Run is the context of the computation; nil never ends. Functions that run for long poll it.
	Run     context.Context
	scratch *vectorScratch // see vectors
}

// vectorScratch is memory that functions of vectors use again with each row.
type vectorScratch struct {
	probe  vector.Probe // the first argument of a similarity
	coords [2][]float64 // the vectors that a distance compares
}

// vectors returns the scratch memory of functions of vectors.
func (c *Context) vectors() *vectorScratch {
	if c.scratch == nil {
		c.scratch = new(vectorScratch)
	}
	return c.scratch
}

// Alive returns an error once the run has ended.
func (c *Context) Alive() error {
	if c.Run != nil && c.Run.Err() != nil {
		return graph.DeadlineError(context.Cause(c.Run))
	}
	return nil
}

// MostCells returns the length of the longest list that a function may build.
func (c *Context) MostCells() int64 {
	if c.MaxList > 0 {
		return c.MaxList
	}
	return maxRange
}

// Fits returns an error if a function may not build a string of so many bytes.
func (c *Context) Fits(name string, bytes int64) error {
	if most := c.MostCells() * cellBytes; bytes > most {
		return graph.BudgetError("%s() would make a string of %d bytes, more than %d", name, bytes, most)
	}
	return nil
}

// cellBytes is the size of a list element.
const cellBytes = 24

// Function is one entry of the catalogue of functions: all that the checker, the executor and SHOW FUNCTIONS know of it.
// Either Eval or New implements it.
type Function struct {
	Name             string // as documented, e.g. toInteger or duration.between
	MinArgs, MaxArgs int    // MaxArgs is -1 where any number may follow
	// Args lists the kinds of arguments whose mismatch is an error at compile time. Further arguments may be of any kind; Eval checks
	// them.
	Args   []Kinds
	Result Kinds
	Elem   Kinds // of the elements of a result that is a list; 0 for anything
	// Eval computes the value of a function that maps values to one value. The arguments belong to the caller and are valid only
	// during the call; the result may share memory with them. Every error is a *graph.Error.
	Eval func(ctx *Context, args []graph.Value) (graph.Value, error)
	New  func() Accumulator // of an aggregate
	// Inserts is the argument that becomes an element of the list that the function gives; 0: none does.
	Inserts       int
	Deterministic bool   // equal arguments always yield the same value
	Stable        bool   // equal arguments, at least one, yield the same value within a statement
	Volatile      bool   // each call gives another value, so an aggregate may not take it
	Records       bool   // reads properties: vertices and edges in its arguments have their records
	Internal      bool   // statements cannot call it: the binders of openCypher and fetches do
	Category      string // as SHOW FUNCTIONS says
	integers      uint   // a bit for each argument that Signature declares as INTEGER
	Signature     string // e.g. left(text :: STRING, length :: INTEGER) :: STRING
	Description   string
}

// Aggregate is a function over the rows of a group.
type Aggregate = Function

// TakesInteger reports whether an argument must be an integer. Evaluation takes a whole float too, which may come from a parameter; a
// front end refuses an expression that is always a float.
func (f *Function) TakesInteger(arg int) bool { return f.integers>>arg&1 == 1 }

// integersOf returns a bit for each argument that a signature declares as INTEGER.
func integersOf(signature string) (bits uint) {
	_, args, _ := strings.Cut(signature, "(")
	args, _, _ = strings.Cut(args, ")")
	for i, a := range strings.Split(args, " :: ")[1:] {
		if t := strings.TrimRight(a, "]"); t == "INTEGER" || strings.HasPrefix(t, "INTEGER,") || strings.HasPrefix(t, "INTEGER [") {
			bits |= 1 << i
		}
	}
	return bits
}

// Aggregating reports whether the function computes its value from the rows of a group.
func (f *Function) Aggregating() bool { return f.New != nil }

// Lookup finds a function that maps values to one value, by its name in any case.
func Lookup(name string) (*Function, bool) {
	f, ok := find(name)
	return f, ok && !f.Aggregating()
}

// LookupAggregate finds an aggregate by its name in any case.
func LookupAggregate(name string) (*Aggregate, bool) {
	f, ok := find(name)
	return f, ok && f.Aggregating()
}

// Builtin returns the function that a statement may call by a name, in upper or lower case.
func Builtin(name string) (*Function, bool) {
	f, ok := find(name)
	return f, ok && !f.Internal
}

func find(name string) (*Function, bool) {
	i, ok := slices.BinarySearchFunc(functions, name, func(f *Function, name string) int {
		return compareFold(f.Name, name)
	})
	if !ok {
		return nil, false
	}
	return functions[i], true
}

// All returns every function and aggregate, sorted by name without regard to case. It must not be changed.
func All() []*Function { return functions }

// Register adds functions of a category to the catalogue. Only initialisation may call it.
func Register(name string, tables ...[]Function) {
	functions = slices.Concat(functions, sortFunctions([]category{{name, tables}}))
	slices.SortFunc(functions, byName)
}

// functions is the catalogue, sorted by name.
var functions = sortFunctions([]category{
	{"Aggregating", [][]Function{aggregates}},
	{"Scalar", [][]Function{scalarFunctions, conversionFunctions, entityFunctions}},
	{"String", [][]Function{stringFunctions, normalFunctions}},
	{"Numeric", [][]Function{mathFunctions}},
	{"List", [][]Function{listFunctions, collFunctions}},
	{"Spatial", [][]Function{pointFunctions}},
	{"Temporal", [][]Function{temporalFunctions, durationFunctions}},
	{"Vector", [][]Function{vectorTypeFunctions, vectorFunctions}},
	{"SQL", [][]Function{sqlArithmetic, sqlTextFunctions, sqlJSONFunctions, sqlTimeFunctions}},
})

// category returns the category of a function in SHOW FUNCTIONS, as Neo4j names it.
type category struct {
	name   string
	tables [][]Function
}

func sortFunctions(categories []category) []*Function {
	var all []*Function
	for _, c := range categories {
		for _, t := range c.tables {
			for i := range t {
				t[i].Category = c.name
				t[i].integers = integersOf(t[i].Signature)
				all = append(all, &t[i])
			}
		}
	}
	slices.SortFunc(all, byName)
	return all
}

func byName(a, b *Function) int { return compareFold(a.Name, b.Name) }

// compareFold compares two names of ASCII letters without regard to case.
func compareFold(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := lower(a[i]), lower(b[i]); x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
