package mapping

import (
	"fmt"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/shard"
)

// Mapping says what becomes of the records of inputs.
type Mapping struct {
	Inputs []*Input
	Spaces []*Space
	// Text identifies the mapping: equal texts are equal mappings.
	Text []byte
}

// Format is how an input's records are written.
type Format uint8

// The formats; Auto goes by the file's name.
const (
	Auto Format = iota
	CSV
	TSV
	JSONL
	Parquet
)

// Input is one or more files of one kind.
type Input struct {
	Paths    []string
	Format   Format
	Options  Options
	Header   []string // the names of the columns, if the files do not begin with them
	NoHeader bool     // columns go by position alone
	Selected []Column // the only columns that are used, or none
	Ignored  []Column
	Where    *Filter
	Vertices []*Vertices
	Edges    []*Edges
	// Joined says that the paths are parts of one text of which the first begins with the header, as neo4j-admin has it.
	Joined     bool
	place      place
	strategies []Column // the properties to which the input itself gives strategies, and where
}

// Options are the settings that an input takes from the mapping's defaults and may change.
type Options struct {
	Delimiter     byte // 0: recognised
	ListDelimiter string
	Nulls         []string
	Quote         byte // 0: none
	Encoding      string
	SkipLines     int
	Zone          temporal.Zone
	format        *dateFormat
	Dangling      shard.Dangling
	action        action
	strategies    map[string]shard.Strategy
}

// Space is a set of external keys. If its keys are a property Property of all its vertices, that is set.
type Space struct {
	Name     string
	Integer  bool
	Property string
	// Known says that the space is that of vertices that have been loaded before, with label Label.
	Known bool
	Label string
	typed bool
}

// Column names a column by name or, if Name is empty, by position.
type Column struct {
	Name  string
	Index int
	place place
}

// String gives the column as a message names it.
func (c Column) String() string {
	if c.Name == "" {
		return strconv.Itoa(c.Index)
	}
	return strconv.Quote(c.Name)
}

// key is an external key: a column, or several joined.
type key struct {
	columns []Column
	space   *Space
}

// label is a label, or a column of labels.
type label struct {
	name   string // or
	column *Column
	values *Dict // raw texts, or nil: the text is the label
	mapped []string
	split  string // separates several labels in one cell
}

// action is what rows do, or a column that says it.
type action struct {
	fixed  shard.Action
	column *Column
	values *Dict // raw texts, or nil: the names of the actions
	mapped []shard.Action
}

// property is a property of vertices or edges.
type property struct {
	name     string
	column   *Column     // or
	constant graph.Value // if column is nil
	conv     *Conv
	strategy shard.Strategy
}

// Vertices is what makes vertices of rows.
type Vertices struct {
	rule
	labels []label
	id     key
}

// Edges is what makes edges of rows.
type Edges struct {
	rule
	typ      label
	from, to key
	dangling shard.Dangling
}

// rule is what vertices and edges have in common.
type rule struct {
	properties []property
	rest       *rest // the columns that become properties by their own name, or nil
	action     action
	where      *Filter
	unfold     []Column
	opts       Options
	place      place
}

// rest says which columns become properties without being named.
type rest struct {
	selected []Column // these, or
	ignored  []Column // all but these
}

// place is where something stands in a mapping file.
type place struct {
	file         string
	line, column int // from 1, or 0
	path         string
}

// Error is a fault of a mapping: its message names the file, line and column, and the field.
type Error struct {
	place
	msg string
}

func (e *Error) Error() string {
	if e.path == "" {
		return fmt.Sprintf("%s: %s", e.place, e.msg)
	}
	return fmt.Sprintf("%s: %s: %s", e.place, e.path, e.msg)
}

// String gives the file with line and column, as far as they are known.
func (p place) String() string {
	switch {
	case p.line == 0:
		return p.file
	case p.column == 0:
		return fmt.Sprintf("%s:%d", p.file, p.line)
	}
	return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.column)
}

func (p place) errorf(format string, args ...any) error {
	return &Error{p, fmt.Sprintf(format, args...)}
}

// First gives the labels or the edge type that an input's rules begin with, for grouping inputs by what they hold.
func (v *Vertices) First() string {
	if len(v.labels) == 0 {
		return ""
	}
	return v.labels[0].String()
}

// First gives the edge type.
func (e *Edges) First() string { return e.typ.String() }

func (l *label) String() string {
	if l.column != nil {
		return "column " + l.column.String()
	}
	return l.name
}

// At says where the input stands in the mapping.
func (in *Input) At() string {
	if in.place.line == 0 || in.place.path == "" {
		return in.place.file
	}
	return fmt.Sprintf("%s: %s", in.place, in.place.path)
}

// Errorf makes an error of what is said where the input stands.
func (in *Input) Errorf(format string, args ...any) error { return in.place.errorf(format, args...) }

// Scanned reports whether the input is read ahead for the labels of its vertices.
func (in *Input) Scanned() bool {
	for _, v := range in.Vertices {
		for i := range v.labels {
			if v.labels[i].column != nil && v.id.space.Property != "" {
				return true
			}
		}
	}
	return false
}
