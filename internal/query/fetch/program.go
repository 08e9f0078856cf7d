package fetch

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Runner runs the plans of one request over one transaction.
type Runner interface {
	// Catalog knows the names of the graph.
	Catalog() graph.Catalog
	// Run prepares and runs a plan and hands its rows, the columns q.Out, to sink, which is done with the batch when it
	// returns. Vertices, edges and paths in them have their records. All requests of one shape bring the same q, so that
	// what is prepared for it can be kept by its address; q is not changed after its first run. A sink may end the run by
	// errEnough's like: Run returns the sink's error as it is.
	Run(ctx context.Context, q *plan.Query, params map[string]graph.Value, sink func(*graph.Batch) error) error
}

// program is what all requests of one shape are bound to: which plans to run, and how the answer is made of their rows.
type program struct {
	params  []param
	members []*output
	props   int    // the number of properties that the catalog knew
	indexes uint64 // the version of its indexes
	fixed   bool   // for this very request, not for all of its shape
}

// outputKind is a kind of member of an answer.
type outputKind uint8

const (
	outText   outputKind = iota // a value of the request as it stands
	outSlot                     // a value of an earlier result
	outEmpty                    // {}
	outObject                   // members
	outTable                    // the first row of query as an object
	outHead                     // the number of rows
	outArray                    // the rows of query as a list
	outHidden                   // nothing: the query runs for what others need of it
)

// output is one member of an answer.
type output struct {
	kind    outputKind
	lit     []byte // "key":
	ord     int    // of outText
	slot    string // of outSlot
	before  []*query
	query   *query
	fields  []field
	elem    *element
	page    *paging // of an array with a total
	members []*output
	explain bool
}

// query is a plan with what it needs and what is taken from its rows.
type query struct {
	q      *plan.Query
	proj   *plan.Project // the columns of the answer, in the order of q.Out
	needs  []string      // parameters that must not be null; if one is, there are no rows
	never  bool          // it cannot have rows
	first  bool          // the first row alone counts
	takes  []take
	hidden *hidden // rows are written apart, for each item of an array
	isOpen bool    // it is still being bound
	ran    bool    // it has its place among what runs
}

// hidden is an object or a list that is the same in all items of an array: it is made once.
type hidden struct {
	slot   int // of run.texts
	fields []field
	elem   *element
}

// takeKind says how a parameter is made of rows.
type takeKind uint8

const (
	takeFirst  takeKind = iota // the column of the first row
	takeRow                    // the column of row n
	takeList                   // the list of the column's values that are not null
	takeSingle                 // as takeFirst, but more than one row is an error
	takeExists                 // whether there are rows
	takeLeast                  // the least value
	takeMost                   // the greatest
	takeNull                   // whether a value is null
)

// take makes the parameter slot of a query's rows.
type take struct {
	kind takeKind
	col  int // of the rows
	row  int
	slot string
	// strict says that a null makes takeLeast and takeMost null.
	strict bool
	path   string // of takeSingle: to blame
}

// paging is what query 1 and 2 ask for. Its columns are in the row (nested) or its parameter is set by a query that
// runs before.
type paging struct {
	slot     string // of the total
	col      int    // in a nested row, else -1
	count    int64  // of the default
	countOrd int    // of the request, or -1
	pageOrd  int
	total    []byte // the key of the total, nil: not written
	info     []byte
	rows     bool // the rows are asked for as well
}

// paramKind says how a value of the request becomes a parameter.
type paramKind uint8

const (
	paramValue  paramKind = iota // as it is
	paramNumber                  // the number that a text means
	paramID                      // null unless positive or not blank
	paramIDNum
	paramList   // a list, texts of numbers twice
	paramIDList // likewise, without what no id can be
	paramLike   // a LIKE pattern
	paramSkip   // page × count
	paramInt    // a boolean as 0 or 1
)

// param is a parameter that is made of the values of the request, which all requests of one shape have at the same
// places.
type param struct {
	name  string
	kind  paramKind
	ord   int
	elem  int // of a list: the element, or -1
	ord2  int // of paramSkip: the count, or -1 for
	count int64
	left  byte // of paramLike
	right byte
	quote bool
}
