package mapping

import (
	"fmt"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
	"github.com/hopgate/hopgate/internal/shard"
)

// Mapping describes how records of inputs become vertices and edges.
type Mapping struct {
	Inputs []*Input
	Spaces []*Space
	// Text identifies the mapping: equal texts mean equal mappings.
	Text []byte
}

// Format is the file format of an input.
type Format uint8

// Auto recognises the format by the file's content and name.
const (
	Auto Format = iota
	CSV
	TSV
	JSONL    // an object a line
	JSON     // an array of objects
	Parquet  //
	Arrow    // an IPC file or stream
	GraphML  // files that hold vertices and edges, see package graphfile
	GEXF     //
	NodeLink //
	APOC     //
)

var formatWords = [...]string{"auto", "csv", "tsv", "jsonl", "json", "parquet", "arrow", "graphml", "gexf", "node-link", "apoc"}

// Columnar reports whether files of the format are binary and have typed columns.
func (f Format) Columnar() bool { return f == Parquet || f == Arrow }

// String returns the name that a mapping gives to the format.
func (f Format) String() string { return formatWords[f] }

// formatNamed returns the formats by the names that a mapping may use.
func formatNamed() map[string]Format {
	out := map[string]Format{"ndjson": JSONL, "CSV": CSV, "TSV": TSV, "JSONL": JSONL, "NDJSON": JSONL, "JSON": JSON, "Parquet": Parquet, "Arrow": Arrow, "GraphML": GraphML, "GEXF": GEXF}
	for f, name := range formatWords[1:] {
		out[name] = Format(f + 1)
	}
	return out
}

// Input is one or more files with the same columns.
type Input struct {
	Paths    []string
	Format   Format
	Options  Options
	Header   []string // column names, if the files do not begin with them
	NoHeader bool     // columns have positions only
	Selected []Column // if set, only these columns are used
	Ignored  []Column
	Where    *Filter
	Vertices []*Vertices
	Edges    []*Edges
	// Joined means that the paths are parts of one text whose first part begins with the header, as in neo4j-admin.
	Joined     bool
	place      place
	strategies []Column // properties to which the input itself assigns strategies, with their positions
}

// Options are settings that the mapping's defaults provide and an input may override.
type Options struct {
	Delimiter     byte // 0: detected
	ListDelimiter string
	Nulls         []string
	Quote         byte // 0: none
	Encoding      string
	SkipLines     int
	Zone          temporal.Zone
	format        *dateFormat
	Dangling      shard.Dangling
	onDuplicate   *shard.OnDuplicate // nil: as the load has it
	action        action
	strategies    map[string]shard.Strategy
}

// Space is a set of external keys. Property is set if the keys are that property of all its vertices.
type Space struct {
	Name     string
	Integer  bool
	Property string
	// Known means that the space consists of previously loaded vertices with label Label.
	Known bool
	Label string
	typed bool
}

// Column refers to a column by name or, if Name is empty, by position.
type Column struct {
	Name  string
	Index int
	place place
}

// String returns the column as messages show it.
func (c Column) String() string {
	if c.Name == "" {
		return strconv.Itoa(c.Index)
	}
	return strconv.Quote(c.Name)
}

// key is an external key: one column, or several joined.
type key struct {
	columns []Column
	space   *Space
}

// label is a constant label, or a column of labels.
type label struct {
	name   string // or
	column *Column
	values *Dict // raw texts; nil if the text is the label
	mapped []string
	split  string // separates several labels in one cell
}

// action is a constant action, or a column of actions.
type action struct {
	fixed  shard.Action
	column *Column
	values *Dict // raw texts; nil for the names of the actions
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

// Vertices makes vertices from rows.
type Vertices struct {
	rule
	labels      []label
	id          key
	onDuplicate *shard.OnDuplicate
}

// OnDuplicate returns the treatment of repeated keys, which or decides if the rule does not.
func (v *Vertices) OnDuplicate(or shard.OnDuplicate) shard.OnDuplicate {
	if v.onDuplicate == nil {
		return or
	}
	return *v.onDuplicate
}

// Edges makes edges from rows.
type Edges struct {
	rule
	typ      label
	from, to key
	dangling shard.Dangling
}

// rule is the common part of Vertices and Edges.
type rule struct {
	properties []property
	rest       *rest // the columns that become properties under their own name, or nil
	action     action
	where      *Filter
	unfold     []Column
	opts       Options
	place      place
}

// rest selects columns that become properties without being listed.
type rest struct {
	selected []Column // these, or
	ignored  []Column // all but these
}

// place is a position in a mapping file.
type place struct {
	file         string
	line, column int // from 1, or 0
	path         string
}

// Error is an error in a mapping. Its message names the file, line, column and field.
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

// String returns the file with the line and column, if known.
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

// First returns the first label of an input's vertices, for grouping inputs by content.
func (v *Vertices) First() string {
	if len(v.labels) == 0 {
		return ""
	}
	return v.labels[0].String()
}

// First returns the edge type.
func (e *Edges) First() string { return e.typ.String() }

func (l *label) String() string {
	if l.column != nil {
		return "column " + l.column.String()
	}
	return l.name
}

// At returns the position of the input in the mapping.
func (in *Input) At() string {
	if in.place.line == 0 || in.place.path == "" {
		return in.place.file
	}
	return fmt.Sprintf("%s: %s", in.place, in.place.path)
}

// Errorf returns an error with the position of the input.
func (in *Input) Errorf(format string, args ...any) error { return in.place.errorf(format, args...) }

// Scanned reports whether planning must scan the input for the labels of its vertices.
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
