package arrowstream

import (
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
)

// append adds rows. bad is the first value that the column cannot represent, if any; the column is unusable then.
func (c *column) append(vals []graph.Value) (bad graph.Value, ok bool) {
	c.grow(len(vals))
	row := c.rows
	c.rows += len(vals)
	switch c.form {
	case integers:
		for i, v := range vals {
			switch v.Kind() {
			case graph.Int:
				c.words = append(c.words, v.Int())
			case graph.Null:
				c.words = append(c.words, 0)
				c.null(row + i)
			default:
				return v, false
			}
		}
	case floats:
		for i, v := range vals {
			switch {
			case v.Kind() == graph.Float || v.Kind() == graph.Int && exactFloat(v.Int()):
				c.words = append(c.words, int64(math.Float64bits(v.Number())))
			case v.IsNull():
				c.words = append(c.words, 0)
				c.null(row + i)
			default:
				return v, false
			}
		}
	case texts:
		for i, v := range vals {
			switch v.Kind() {
			case graph.String:
				c.data = append(c.data, v.Str()...)
			case graph.Null:
				c.null(row + i)
			default:
				return v, false
			}
			c.closeText()
		}
	case lists:
		return c.appendLists(row, vals)
	case records:
		return c.appendRecords(row, vals)
	case mixed:
		for i, v := range vals {
			if v.IsNull() {
				c.null(row + i)
			} else {
				c.data = c.json.Append(c.data, v)
			}
			c.closeText()
		}
	default:
		return c.appendOthers(row, vals)
	}
	return graph.Value{}, true
}

// appendOthers adds rows one by one, each of the column's form or null.
func (c *column) appendOthers(row int, vals []graph.Value) (bad graph.Value, ok bool) {
	for i, v := range vals {
		switch {
		case v.IsNull():
			c.null(row + i)
			c.blank(row + i)
		case !c.add(row+i, v):
			return v, false
		}
	}
	for _, k := range c.kids {
		k.rows = c.rows
	}
	return graph.Value{}, true
}

// blank adds a placeholder for a null, also in nested columns.
func (c *column) blank(row int) {
	switch c.form {
	case nulls:
	case booleans:
		c.truth(row, false)
	case dates, coded:
		c.narrow = append(c.narrow, 0)
	case texts, binaries, mixed:
		c.closeText()
	case vectors:
		c.data = append(c.data, make([]byte, c.vector.dimensions*c.vector.coordinates.Size())...)
	case lists:
		c.ends = append(c.ends, int32(c.kids[0].rows))
	default:
		if c.kids == nil {
			c.words = append(c.words, 0)
		}
		for i, k := range c.kids {
			k.null(row)
			if c.structs && i == c.properties() {
				for _, p := range k.kids {
					p.append(noCell)
				}
			} else {
				k.blank(row)
			}
		}
	}
}

// noCell is a null to append.
var noCell = []graph.Value{{}}

// properties is the number of the nested column of properties; the one of those without a place follows.
func (c *column) properties() int { return len(c.kids) - 2 }

// add adds a value that is not null, and reports whether the column can represent it.
func (c *column) add(row int, v graph.Value) bool {
	if !formsOf(v).has(c.form) {
		return false
	}
	switch c.form {
	case booleans:
		c.truth(row, v.Bool())
	case binaries:
		c.data = append(c.data, v.Bytes()...)
		c.closeText()
	case vectors:
		if vectorTypeOf(v.Vector()) != c.vector {
			return false
		}
		c.data = append(c.data, v.Vector().Data...)
	case dates:
		c.narrow = append(c.narrow, int32(v.Date()))
	case localTimes:
		c.words = append(c.words, int64(v.LocalTime()))
	case localDateTimes:
		t := v.LocalDateTime()
		n, _ := nanoseconds(t.Sec, t.Nano)
		c.words = append(c.words, n)
	case coarseLocalDateTimes:
		t := v.LocalDateTime()
		n, _ := microseconds(t.Sec, t.Nano)
		c.words = append(c.words, n)
	case dateTimes, coarseDateTimes:
		t := v.DateTime()
		if c.zones.of(t).text != c.zone {
			return false
		}
		n, _ := nanoseconds(t.Sec, t.Nano)
		if c.form == coarseDateTimes {
			n, _ = microseconds(t.Sec, t.Nano)
		}
		c.words = append(c.words, n)
	default:
		c.addParts(v)
	}
	return true
}

// addParts adds a value to the columns of a struct.
func (c *column) addParts(v graph.Value) {
	k := c.kids
	switch c.form {
	case times:
		t := v.Time()
		k[0].words = append(k[0].words, int64(t.Local))
		k[1].narrow = append(k[1].narrow, t.Offset)
	case zonedDateTimes:
		t := v.DateTime()
		n, _ := nanoseconds(t.Sec, t.Nano)
		k[0].words = append(k[0].words, n)
		k[1].addText(c.zones.of(t).text)
	case durations:
		d := v.Duration()
		k[0].words = append(k[0].words, d.Months)
		k[1].words = append(k[1].words, d.Days)
		k[2].words = append(k[2].words, d.Seconds)
		k[3].narrow = append(k[3].narrow, d.Nanos)
	case points:
		p := v.Point()
		k[0].narrow = append(k[0].narrow, int32(p.CRS))
		row := len(k[1].words)
		for i, x := range [3]float64{p.X, p.Y, p.Z} {
			k[1+i].words = append(k[1+i].words, int64(math.Float64bits(x)))
		}
		if p.CRS.Dimensions() == 2 {
			k[3].null(row)
		}
	case vertices:
		c.addVertex(v)
	case edges:
		c.addEdge(v.Edge())
	case paths:
		p := v.Path()
		k[0].addList(p.Vertices)
		k[1].addList(p.Edges)
	}
}

func (c *column) addText(s string) {
	c.data = append(c.data, s...)
	c.closeText()
}

// addList adds a list whose elements fit the nested column.
func (c *column) addList(list []graph.Value) {
	c.kids[0].append(list)
	c.ends = append(c.ends, int32(c.kids[0].rows))
}

// none is the record of vertices and edges without properties.
var none graph.Record

func (c *column) addVertex(v graph.Value) {
	id, labels, properties := c.kids[0], c.kids[1], c.kids[2]
	rec := v.Record()
	if rec == nil {
		rec = &none
	}
	id.data = graph.AppendVertexElementID(id.data, v.Vertex())
	id.closeText()
	names := labels.kids[0]
	for _, l := range rec.Labels {
		names.addName(l)
	}
	names.rows += len(rec.Labels)
	labels.ends = append(labels.ends, int32(names.rows))
	if c.structs {
		c.addProperties(rec)
		return
	}
	properties.data = properties.json.AppendRecord(properties.data, rec)
	properties.closeText()
}

func (c *column) addEdge(e *graph.EdgeValue) {
	id, start, end, typ, properties := c.kids[0], c.kids[1], c.kids[2], c.kids[3], c.kids[4]
	rec := e.Record
	if rec == nil {
		rec = &none
	}
	id.data = graph.AppendEdgeElementID(id.data, e.Edge)
	id.closeText()
	start.data = graph.AppendVertexElementID(start.data, e.Src)
	start.closeText()
	end.data = graph.AppendVertexElementID(end.data, e.Dst)
	end.closeText()
	typ.addName(rec.Type)
	if c.structs {
		c.addProperties(rec)
		return
	}
	properties.data = properties.json.AppendRecord(properties.data, rec)
	properties.closeText()
}

// addName adds a label or a type, as text or by its number.
func (c *column) addName(s string) {
	if c.form != coded {
		c.addText(s)
		return
	}
	if n := len(c.narrow); n > 0 && len(c.names) > 0 && c.names[c.narrow[n-1]] == s {
		c.narrow = append(c.narrow, c.narrow[n-1])
		return
	}
	code, ok := c.codes[s]
	if !ok {
		code = int32(len(c.names))
		c.codes[s], c.names = code, append(c.names, s)
		c.dictionary.addText(s)
		c.dictionary.rows++
	}
	c.narrow = append(c.narrow, code)
}

// addProperties adds the properties of a vertex or an edge to their columns, and those without a place as JSON.
func (c *column) addProperties(rec *graph.Record) {
	properties, more := c.kids[c.properties()], c.kids[c.properties()+1]
	var rest []graph.MapEntry
	k := 0
	for i, name := range properties.keys {
		for ; k < len(rec.Keys) && rec.Keys[k] < name; k++ {
			rest = append(rest, graph.MapEntry{Key: rec.Keys[k], Value: rec.Values[k]})
		}
		cell := noCell
		if k < len(rec.Keys) && rec.Keys[k] == name {
			if properties.kids[i].fits(rec.Values[k]) {
				cell = rec.Values[k : k+1]
			} else {
				rest = append(rest, graph.MapEntry{Key: name, Value: rec.Values[k]})
			}
			k++
		}
		properties.kids[i].append(cell)
	}
	for ; k < len(rec.Keys); k++ {
		rest = append(rest, graph.MapEntry{Key: rec.Keys[k], Value: rec.Values[k]})
	}
	if rest == nil {
		more.null(len(more.ends) - 1)
	} else {
		more.data = more.json.Append(more.data, graph.MapValue(rest))
	}
	more.closeText()
}

// fits reports whether the column can represent a value.
func (c *column) fits(v graph.Value) bool {
	if v.IsNull() {
		return true
	}
	if !formsOf(v).has(c.form) {
		return false
	}
	switch c.form {
	case vectors:
		return vectorTypeOf(v.Vector()) == c.vector
	case dateTimes, coarseDateTimes:
		return c.zones.of(v.DateTime()).text == c.zone
	case lists:
		return !slices.ContainsFunc(v.List(), func(e graph.Value) bool { return !c.kids[0].fits(e) })
	case records:
		if !sameKeys(c.keys, v.Map()) {
			return false
		}
		for i, e := range v.Map() {
			if !c.kids[i].fits(e.Value) {
				return false
			}
		}
	}
	return true
}

func (c *column) appendLists(row int, vals []graph.Value) (bad graph.Value, ok bool) {
	elem := c.kids[0]
	for i, v := range vals {
		switch v.Kind() {
		case graph.List:
			if bad, ok := elem.append(v.List()); !ok {
				return bad, false
			}
		case graph.Null:
			c.null(row + i)
		default:
			return v, false
		}
		c.ends = append(c.ends, int32(elem.rows))
	}
	return graph.Value{}, true
}

func (c *column) appendRecords(row int, vals []graph.Value) (bad graph.Value, ok bool) {
	for i, v := range vals {
		switch {
		case v.IsNull():
			c.null(row + i)
		case v.Kind() != graph.Map || !sameKeys(c.keys, v.Map()):
			return v, false
		}
	}
	for k, kid := range c.kids {
		c.gather = c.gather[:0]
		for _, v := range vals {
			if v.IsNull() {
				c.gather = append(c.gather, graph.Value{})
			} else {
				c.gather = append(c.gather, v.Map()[k].Value)
			}
		}
		if bad, ok := kid.append(c.gather); !ok {
			return bad, false
		}
	}
	return graph.Value{}, true
}
