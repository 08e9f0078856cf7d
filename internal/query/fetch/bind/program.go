package bind

import (
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Program is the bound form of all requests of one shape: the plans to run, and how to build the answer from their rows.
type Program struct {
	Params  []Param
	Members []*Output
	Props   int    // the number of properties that the catalog knew
	Indexes uint64 // the version of its indexes
	Fixed   bool   // for this very request, not for all of its shape
}

// outputKind is a kind of member of an answer.
type outputKind uint8

// The kinds of members.
const (
	OutText   outputKind = iota // a value of the request, unchanged
	OutSlot                     // a value of an earlier result
	OutEmpty                    // {}
	OutObject                   // members
	OutTable                    // the first row of query as an object
	OutHead                     // the number of rows
	OutArray                    // the rows of query as a list
	OutHidden                   // nothing: the query runs for parameters of other queries
)

// Output is one member of an answer.
type Output struct {
	Kind    outputKind
	Lit     []byte // "key":
	Ord     int    // of outText
	Slot    string // of outSlot
	Before  []*Query
	Query   *Query
	Fields  []Field
	Elem    *Element
	Page    *Paging // of an array with a total
	Whole   bool    // an array without a count or a page
	Members []*Output
	Explain bool
}

// Query is a plan with its parameters and the values that later queries take from its rows.
type Query struct {
	Q      *plan.Query
	proj   *plan.Project // the columns of the answer, in the order of q.Out
	Needs  []string      // parameters that must not be null; if one is, there are no rows
	Never  bool          // it cannot have rows
	First  bool          // only the first row counts
	Takes  []Take
	Hidden *hidden // rows are written apart, for each item of an array
	isOpen bool    // it is still being bound
	ran    bool    // it has a position in the order of execution
}

// hidden is an object or list that is the same in all items of an array, so it is built once.
type hidden struct {
	Slot   int // of run.texts
	Fields []Field
	Elem   *Element
}

// takeKind says how a parameter is built from rows.
type takeKind uint8

// The ways to build a parameter.
const (
	TakeFirst  takeKind = iota // the column of the first row
	TakeRow                    // the column of row n
	TakeList                   // the list of the column's values that are not null
	TakeSingle                 // as takeFirst, but more than one row is an error
	TakeExists                 // whether there are rows
	TakeLeast                  // the least value
	TakeMost                   // the greatest
	takeNull                   // whether a value is null
)

// Take builds the parameter slot from a query's rows.
type Take struct {
	Kind takeKind
	Col  int // of the rows
	Row  int
	Slot string
	// Strict reports whether a null makes takeLeast and takeMost null.
	Strict bool
	Path   string // of takeSingle: to blame
}

// Paging holds the totals that query 1 and 2 request. Its columns are in the row (nested), or a query that runs earlier sets its
// parameter.
type Paging struct {
	Slot     string // of the total
	Col      int    // in a nested row, else -1
	Count    int64  // of the default
	CountOrd int    // of the request, or -1
	PageOrd  int
	Total    []byte // the key of the total, nil: not written
	Info     []byte
	rows     bool // the request wants the rows as well
}

// paramKind identifies the conversion of a request's value to a parameter.
type paramKind uint8

// The conversions.
const (
	paramValue  paramKind = iota // as it is
	ParamNumber                  // the number that a text means
	ParamID                      // null unless positive or not blank
	ParamIDNum
	ParamList   // a list, texts of numbers twice
	ParamIDList // likewise, without values that cannot be ids
	ParamLike   // a LIKE pattern
	ParamSkip   // page × count
	ParamInt    // a boolean as 0 or 1
)

// Param is a parameter built from values of the request, which stand at the same places in all requests of one shape.
type Param struct {
	Name  string
	Kind  paramKind
	Ord   int
	Elem  int // of a list: the element, or -1
	Ord2  int // of paramSkip: the count, or -1 for
	Count int64
	Left  byte // of paramLike
	Right byte
	Quote bool
}
