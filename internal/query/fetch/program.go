package fetch

import (
	"github.com/hopgate/hopgate/internal/query/plan"
)

// program is the bound form of all requests of one shape: the plans to run, and how to build the answer from their rows.
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
	outText   outputKind = iota // a value of the request, unchanged
	outSlot                     // a value of an earlier result
	outEmpty                    // {}
	outObject                   // members
	outTable                    // the first row of query as an object
	outHead                     // the number of rows
	outArray                    // the rows of query as a list
	outHidden                   // nothing: the query runs for parameters of other queries
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

// query is a plan with its parameters and the values that later queries take from its rows.
type query struct {
	q      *plan.Query
	proj   *plan.Project // the columns of the answer, in the order of q.Out
	needs  []string      // parameters that must not be null; if one is, there are no rows
	never  bool          // it cannot have rows
	first  bool          // only the first row counts
	takes  []take
	hidden *hidden // rows are written apart, for each item of an array
	isOpen bool    // it is still being bound
	ran    bool    // it has a position in the order of execution
}

// hidden is an object or list that is the same in all items of an array, so it is built once.
type hidden struct {
	slot   int // of run.texts
	fields []field
	elem   *element
}

// takeKind says how a parameter is built from rows.
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

// take builds the parameter slot from a query's rows.
type take struct {
	kind takeKind
	col  int // of the rows
	row  int
	slot string
	// strict reports whether a null makes takeLeast and takeMost null.
	strict bool
	path   string // of takeSingle: to blame
}

// paging holds the totals that query 1 and 2 request. Its columns are in the row (nested), or a query that runs earlier sets its
// parameter.
type paging struct {
	slot     string // of the total
	col      int    // in a nested row, else -1
	count    int64  // of the default
	countOrd int    // of the request, or -1
	pageOrd  int
	total    []byte // the key of the total, nil: not written
	info     []byte
	rows     bool // the request wants the rows as well
}

// paramKind identifies the conversion of a request's value to a parameter.
type paramKind uint8

const (
	paramValue  paramKind = iota // as it is
	paramNumber                  // the number that a text means
	paramID                      // null unless positive or not blank
	paramIDNum
	paramList   // a list, texts of numbers twice
	paramIDList // likewise, without values that cannot be ids
	paramLike   // a LIKE pattern
	paramSkip   // page × count
	paramInt    // a boolean as 0 or 1
)

// param is a parameter built from values of the request, which stand at the same places in all requests of one shape.
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
