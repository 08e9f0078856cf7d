package arrowstream

import (
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// column is an Arrow column under construction. Its form decides which of the slices it uses.
type column struct {
	form   form
	typ    arrow.DataType
	json   *notation.JSONForm // for mixed
	keys   []string           // for records
	zone   string             // for instants in a single zone
	zones  zones
	vector vectorType
	rows   int
	nulls  int
	valid  []byte        // a bit per row; empty before the first null
	data   []byte        // text and binary data, and the bits of booleans
	words  []int64       // 64-bit values, including floats
	narrow []int32       // 32-bit values
	ends   []int32       // offsets of lists and text: a 0, then the end of each row
	kids   []*column     // nested columns of lists, records and structs
	gather []graph.Value // the values of one key of records

	structs    bool             // of vertices or edges: a field for each property
	dictionary *column          // of coded: the dictionary, which only grows
	names      []string         // of coded: its texts
	codes      map[string]int32 // of coded: the number of each
}

// newColumn returns a column for the values that a shape has seen.
func newColumn(s *shape, complete bool) *column {
	c := &column{form: s.form(complete), keys: s.keys, zone: s.zone, vector: s.vector}
	switch c.form {
	case lists:
		c.kids = []*column{newColumn(s.elem, complete)}
	case records:
		for _, k := range s.kids {
			c.kids = append(c.kids, newColumn(k, complete))
		}
	case mixed:
		c.json = &notation.TypedJSON
	case vertices, edges:
		if s.structs {
			return elementColumn(c.form, s, complete)
		}
	case paths:
		if s.structs {
			c.structure([]string{"vertices", "edges"}, listColumn(elementColumn(vertices, s.nodes, complete)), listColumn(elementColumn(edges, s.steps, complete)))
			return c
		}
	}
	return c.init()
}

// elementColumn returns a column of vertices or edges with a field for each property that a shape has seen. What has no place in these is
// JSON in a field of its own.
func elementColumn(f form, s *shape, complete bool) *column {
	c := &column{form: f, structs: true}
	properties := &column{form: records, keys: s.names}
	for _, p := range s.properties {
		properties.kids = append(properties.kids, newColumn(p, complete))
	}
	properties.init()
	more := (&column{form: mixed, json: &notation.TypedJSON}).init()
	if f == vertices {
		c.structure([]string{"elementId", "labels", "properties", "more"}, plainColumn(texts), listColumn(plainColumn(coded)), properties, more)
	} else {
		c.structure([]string{"elementId", "startNodeElementId", "endNodeElementId", "type", "properties", "more"},
			plainColumn(texts), plainColumn(texts), plainColumn(texts), plainColumn(coded), properties, more)
	}
	return c
}

func plainColumn(f form) *column { return (&column{form: f}).init() }

// jsonColumn holds objects in plain JSON.
func jsonColumn() *column { return (&column{form: mixed, json: &notation.PlainJSON}).init() }

func listColumn(elem *column) *column { return (&column{form: lists, kids: []*column{elem}}).init() }

// init sets the type of a column and creates the columns of structs.
func (c *column) init() *column {
	switch c.form {
	case nulls:
		c.typ = arrow.Null
	case booleans:
		c.typ = arrow.FixedWidthTypes.Boolean
	case integers:
		c.typ = arrow.PrimitiveTypes.Int64
	case floats:
		c.typ = arrow.PrimitiveTypes.Float64
	case texts, mixed:
		c.typ, c.ends = arrow.BinaryTypes.String, []int32{0}
	case coded:
		c.typ, c.dictionary, c.codes = labelType, plainColumn(texts), map[string]int32{}
	case binaries:
		c.typ, c.ends = arrow.BinaryTypes.Binary, []int32{0}
	case dates:
		c.typ = arrow.FixedWidthTypes.Date32
	case localTimes:
		c.typ = arrow.FixedWidthTypes.Time64ns
	case localDateTimes:
		c.typ = &arrow.TimestampType{Unit: arrow.Nanosecond}
	case coarseLocalDateTimes:
		c.typ = &arrow.TimestampType{Unit: arrow.Microsecond}
	case dateTimes:
		c.typ = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: c.zone}
	case coarseDateTimes:
		c.typ = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: c.zone}
	case vectors:
		c.typ = arrow.FixedSizeListOfNonNullable(int32(c.vector.dimensions), coordinateTypes[c.vector.coordinates])
	case lists:
		c.typ, c.ends = arrow.ListOfField(c.kids[0].field("item")), []int32{0}
	case records:
		c.structure(c.keys, c.kids...)
	case times:
		c.structure([]string{"time", "offset"}, plainColumn(localTimes), seconds())
	case zonedDateTimes:
		instant := (&column{form: dateTimes, zone: "UTC"}).init()
		c.structure([]string{"instant", "zone"}, instant, plainColumn(texts))
	case durations:
		c.structure([]string{"months", "days", "seconds", "nanoseconds"},
			plainColumn(integers), plainColumn(integers), plainColumn(integers), seconds())
	case points:
		c.structure([]string{"srid", "x", "y", "z"}, seconds(), plainColumn(floats), plainColumn(floats), plainColumn(floats))
	case vertices:
		c.structure([]string{"elementId", "labels", "properties"}, plainColumn(texts), listColumn(plainColumn(texts)), jsonColumn())
	case edges:
		c.structure([]string{"elementId", "startNodeElementId", "endNodeElementId", "type", "properties"},
			plainColumn(texts), plainColumn(texts), plainColumn(texts), plainColumn(texts), jsonColumn())
	case paths:
		c.structure([]string{"vertices", "edges"}, listColumn(plainColumn(vertices)), listColumn(plainColumn(edges)))
	}
	return c
}

var coordinateTypes = [...]arrow.DataType{
	graph.Integer8: arrow.PrimitiveTypes.Int8, graph.Integer16: arrow.PrimitiveTypes.Int16, graph.Integer32: arrow.PrimitiveTypes.Int32,
	graph.Integer64: arrow.PrimitiveTypes.Int64, graph.Float32: arrow.PrimitiveTypes.Float32, graph.Float64: arrow.PrimitiveTypes.Float64,
}

// labelType is the type of labels and types by their numbers.
var labelType = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}

// seconds returns a column of 32-bit numbers.
func seconds() *column { return &column{form: dates, typ: arrow.PrimitiveTypes.Int32} }

func (c *column) structure(names []string, kids ...*column) {
	c.kids = kids
	fields := make([]arrow.Field, len(kids))
	for i, k := range kids {
		fields[i] = k.field(names[i])
	}
	c.typ = arrow.StructOf(fields...)
}

// jsonText marks a text column as JSON by Arrow's extension type, and names its form in docs/http.md.
var jsonText = map[*notation.JSONForm]arrow.Metadata{
	&notation.PlainJSON: arrow.NewMetadata([]string{"ARROW:extension:name", "ARROW:extension:metadata", "hopgate.json"}, []string{"arrow.json", "", "plain"}),
	&notation.TypedJSON: arrow.NewMetadata([]string{"ARROW:extension:name", "ARROW:extension:metadata", "hopgate.json"}, []string{"arrow.json", "", "typed"}),
}

func (c *column) field(name string) arrow.Field {
	f := arrow.Field{Name: name, Type: c.typ, Nullable: true}
	if c.json != nil {
		f.Metadata = jsonText[c.json]
	}
	return f
}

// null sets a row to null; rows count from the start of the column.
func (c *column) null(row int) {
	c.cover(row)
	c.valid[row>>3] &^= 1 << (row & 7)
	c.nulls++
}

// cover extends the validity bits to a row and sets those of the rows before it.
func (c *column) cover(row int) {
	for len(c.valid) <= row>>3 {
		c.valid = append(c.valid, 0xff)
	}
}

// truth sets the bit of a boolean row.
func (c *column) truth(row int, b bool) {
	for len(c.data) <= row>>3 {
		c.data = append(c.data, 0)
	}
	if b {
		c.data[row>>3] |= 1 << (row & 7)
	}
}

// closeText ends a text row.
func (c *column) closeText() { c.ends = append(c.ends, int32(len(c.data))) }

// size is the size of the rows in bytes; held includes memory kept for later rows.
func (c *column) size() int {
	n := len(c.valid) + len(c.data) + 8*len(c.words) + 4*len(c.narrow) + 4*len(c.ends)
	for _, k := range c.kids {
		n += k.size()
	}
	return n
}

func (c *column) held() int {
	n := cap(c.valid) + cap(c.data) + 8*cap(c.words) + 4*cap(c.narrow) + 4*cap(c.ends) + 24*cap(c.gather)
	if c.dictionary != nil {
		n += 2*c.dictionary.held() + 64*len(c.names)
	}
	for _, k := range c.kids {
		n += k.held()
	}
	return n
}

// check fails if a column exceeds Arrow's offsets.
func (c *column) check() error {
	if len(c.data) > math.MaxInt32 || c.rows > math.MaxInt32 {
		return graph.BudgetError("a record batch of Arrow holds at most 2 GiB of a column: return fewer or smaller values")
	}
	for _, k := range c.kids {
		if err := k.check(); err != nil {
			return err
		}
	}
	return nil
}

// reset empties the column and keeps its memory.
func (c *column) reset() {
	c.rows, c.nulls = 0, 0
	c.valid, c.data, c.words, c.narrow = c.valid[:0], c.data[:0], c.words[:0], c.narrow[:0]
	c.ends = c.ends[:min(1, len(c.ends))]
	for _, k := range c.kids {
		k.reset()
	}
}

// array returns the rows as an array that shares the column's memory.
func (c *column) array() arrow.ArrayData {
	var valid *memory.Buffer
	if c.nulls > 0 {
		c.cover(c.rows - 1)
		valid = memory.NewBufferBytes(c.valid)
	}
	buffers := append(make([]*memory.Buffer, 0, 3), valid)
	var kids []arrow.ArrayData
	switch c.form {
	case nulls:
		return array.NewData(c.typ, c.rows, []*memory.Buffer{nil}, nil, c.rows, 0)
	case booleans:
		buffers = append(buffers, memory.NewBufferBytes(c.data))
	case texts, binaries, mixed:
		buffers = append(buffers, offsets(c.ends), memory.NewBufferBytes(c.data))
	case dates:
		buffers = append(buffers, offsets(c.narrow))
	case coded:
		return array.NewDataWithDictionary(c.typ, c.rows, append(buffers, offsets(c.narrow)), c.nulls, 0, c.dictionary.array().(*array.Data))
	case vectors:
		coordinates := []*memory.Buffer{nil, memory.NewBufferBytes(c.data)}
		kids = append(kids, array.NewData(coordinateTypes[c.vector.coordinates], c.rows*c.vector.dimensions, coordinates, nil, 0, 0))
	case lists:
		buffers = append(buffers, offsets(c.ends))
	default:
		if c.kids == nil {
			buffers = append(buffers, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(c.words)))
		}
	}
	for _, k := range c.kids {
		kids = append(kids, k.array())
	}
	return array.NewData(c.typ, c.rows, buffers, kids, c.nulls, 0)
}

func offsets(n []int32) *memory.Buffer {
	return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(n))
}

// grow allocates rows.
func (c *column) grow(n int) {
	switch c.form {
	case integers, floats, localTimes, localDateTimes, coarseLocalDateTimes, dateTimes, coarseDateTimes:
		c.words = slices.Grow(c.words, n)
	case dates:
		c.narrow = slices.Grow(c.narrow, n)
	case texts, binaries, mixed, lists:
		c.ends = slices.Grow(c.ends, n)
	}
}
