package fetch

import (
	"encoding/json"
	"io"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fetch/bind"
)

// flushAt is how many bytes are gathered before they are written out.
const flushAt = 32 << 10

// writer gathers an answer and writes it out in pieces. Members of objects that may turn out empty are held back: an
// object begins with its first member.
type writer struct {
	w       io.Writer
	buf     []byte
	pending [][]byte // the keys of objects that have no member yet
	began   bool     // something was written out
	run     *run
}

// key begins a member.
func (w *writer) key(lit []byte) {
	for _, p := range w.pending {
		w.comma()
		w.buf = append(append(w.buf, p...), '{')
	}
	w.pending = w.pending[:0]
	w.comma()
	w.buf = append(w.buf, lit...)
}

func (w *writer) comma() {
	if n := len(w.buf); n > 0 && w.buf[n-1] != '{' && w.buf[n-1] != '[' {
		w.buf = append(w.buf, ',')
	}
}

// begin announces an object.
func (w *writer) begin(lit []byte) { w.pending = append(w.pending, lit) }

// end closes the object announced last. An object without members was never opened.
func (w *writer) end() {
	if n := len(w.pending); n > 0 {
		w.pending = w.pending[:n-1]
		return
	}
	w.buf = append(w.buf, '}')
}

// spill writes out the buffer if it is large enough. It keeps the last byte, for comma.
func (w *writer) spill() error {
	if len(w.buf) < flushAt {
		return nil
	}
	return w.flush()
}

func (w *writer) flush() error {
	if len(w.buf) < 2 {
		return nil
	}
	n := len(w.buf) - 1
	w.began = true
	if _, err := w.w.Write(w.buf[:n]); err != nil {
		return err
	}
	w.buf[0] = w.buf[n]
	w.buf = w.buf[:1]
	return nil
}

// fields appends the members of a row's object after its opening brace.
func (w *writer) fields(dst []byte, fields []bind.Field, row []graph.Value) []byte {
	for i := range fields {
		f := &fields[i]
		if f.Kind == bind.FieldValue {
			v := row[f.Col]
			if v.Kind() == graph.Null {
				continue
			}
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(dst, f.Lit...)
			switch v.Kind() {
			case graph.Int:
				dst = appendInt(dst, v.Int())
			case graph.String:
				dst = notation.AppendJSONString(dst, v.Str())
			default:
				dst = notation.BareJSON.Append(dst, v)
			}
			continue
		}
		dst = w.fieldSlow(dst, f, row)
	}
	return dst
}

// fieldSlow appends one member of a less common kind.
func (w *writer) fieldSlow(dst []byte, f *bind.Field, row []graph.Value) []byte {
	start := len(dst)
	if dst[start-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, f.Lit...)
	body := len(dst)
	switch f.Kind {
	case bind.FieldJSON:
		dst = appendJSON(dst, row[f.Col])
	case bind.FieldRecord:
		dst = w.record(dst[:start], f, row[f.Col])
		return dst
	case bind.FieldObject:
		if f.Col >= 0 && row[f.Col].IsNull() {
			return dst[:start]
		}
		dst = append(w.fields(append(dst, '{'), f.Fields, row), '}')
	case bind.FieldRow:
		v := row[f.Col]
		if v.Kind() != graph.List || len(v.List()) == 0 {
			return dst[:start]
		}
		dst = append(w.fields(append(dst, '{'), f.Fields, v.List()[0].List()), '}')
	case bind.FieldList:
		dst = w.list(dst, f.Elem, row[f.Col])
	case bind.FieldText:
		dst = append(dst, w.run.req.Doc.Nodes[f.Ord].Raw...)
	case bind.FieldHidden:
		made := &w.run.texts[f.Col]
		if made.written {
			w.run.rows += made.rows
		}
		made.written = true
		dst = append(dst, made.text...)
	case bind.FieldSlot:
		v := w.run.params[f.Slot]
		if f.Page != nil {
			dst = w.run.appendInfo(dst, f.Page, v)
		} else if !v.IsNull() {
			dst = notation.BareJSON.Append(dst, v)
		}
	case bind.FieldPage:
		return w.page(dst[:start], f.Page, row[f.Page.Col])
	}
	if len(dst) == body {
		return dst[:start]
	}
	return dst
}

// page appends the total and the info of an array in an item.
func (w *writer) page(dst []byte, pg *bind.Paging, total graph.Value) []byte {
	if total.IsNull() {
		return dst
	}
	member := func(lit []byte) {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(dst, lit...)
	}
	if pg.Total != nil {
		member(pg.Total)
		dst = notation.BareJSON.Append(dst, total)
	}
	if pg.Info != nil {
		member(pg.Info)
		dst = w.run.appendInfo(dst, pg, total)
	}
	return dst
}

// record appends all properties of a vertex or an edge as members.
func (w *writer) record(dst []byte, f *bind.Field, v graph.Value) []byte {
	r := recordOf(v)
	if r == nil {
		return dst
	}
	for i, k := range r.Keys {
		if f.Except[k] || r.Values[i].IsNull() {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(notation.AppendJSONString(dst, k), ':')
		if f.JSON[k] {
			dst = appendJSON(dst, r.Values[i])
		} else {
			dst = notation.BareJSON.Append(dst, r.Values[i])
		}
	}
	return dst
}

// list appends a list of rows; nothing where it is empty.
func (w *writer) list(dst []byte, e *bind.Element, v graph.Value) []byte {
	if v.Kind() != graph.List || len(v.List()) == 0 {
		return dst
	}
	start := len(dst)
	dst = append(dst, '[')
	for _, item := range v.List() {
		w.run.rows++
		if e.Col == -2 { // the element is the value itself
			if item.IsNull() {
				continue
			}
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			if e.JSON {
				dst = appendJSON(dst, item)
			} else {
				dst = notation.BareJSON.Append(dst, item)
			}
			continue
		}
		dst = w.element(dst, e, item.List())
	}
	if len(dst) == start+1 {
		return dst[:start]
	}
	return append(dst, ']')
}

// element appends an element of a list with the comma before it.
func (w *writer) element(dst []byte, e *bind.Element, row []graph.Value) []byte {
	switch {
	case e.Value:
		if e.Col < 0 || row[e.Col].IsNull() {
			return dst
		}
	case e.Object >= 0:
		if row[e.Object].IsNull() {
			return dst
		}
		if e.Row {
			one := row[e.Object].List()
			if len(one) == 0 {
				return dst
			}
			row = one[0].List()
		}
	}
	if dst[len(dst)-1] != '[' {
		dst = append(dst, ',')
	}
	switch {
	case e.Path != nil:
		return appendPath(e.Path, dst, row[e.Col])
	case e.Value && e.JSON:
		return appendJSON(dst, row[e.Col])
	case e.Value:
		return notation.BareJSON.Append(dst, row[e.Col])
	}
	return append(w.fields(append(dst, '{'), e.Fields, row), '}')
}

// appendPath writes a path: its length, and its vertices and edges each under the key of its table.
func appendPath(p *bind.Walked, dst []byte, v graph.Value) []byte {
	path := v.Path()
	dst = append(dst, `{"length":`...)
	dst = appendInt(dst, int64(len(path.Edges)))
	dst = append(dst, `,"[]":[`...)
	for i, vertex := range path.Vertices {
		if i > 0 {
			dst = append(appendPart(p, append(dst, ','), path.Edges[i-1]), ',')
		}
		dst = appendPart(p, dst, vertex)
	}
	return append(dst, "]}"...)
}

func appendPart(p *bind.Walked, dst []byte, v graph.Value) []byte {
	r := recordOf(v)
	var t *bind.PathTable
	name := ""
	if r != nil {
		if name = r.Type; v.Kind() == graph.VertexKind {
			for _, l := range r.Labels {
				if t = p.Tables[l]; t != nil {
					break
				}
			}
			if len(r.Labels) > 0 {
				name = r.Labels[0]
			}
		} else {
			t = p.Tables[name]
		}
	}
	dst = append(dst, '{')
	if t == nil {
		dst = append(notation.AppendJSONString(dst, name), ":{"...)
		return append(notation.BareJSON.AppendMembers(dst, r), "}}"...)
	}
	dst = append(append(dst, t.Lit...), '{')
	if t.Names == nil {
		return append(notation.BareJSON.AppendMembers(dst, r), "}}"...)
	}
	for i, want := range t.Names {
		for j, k := range r.Keys {
			if k != want || r.Values[j].IsNull() {
				continue
			}
			if dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = notation.BareJSON.Append(append(dst, t.Lits[i]...), r.Values[j])
		}
	}
	return append(dst, "}}"...)
}

// appendJSON writes a text that is JSON as it is, and any other value as usual.
func appendJSON(dst []byte, v graph.Value) []byte {
	if v.IsNull() {
		return dst
	}
	if v.Kind() == graph.String && json.Valid([]byte(v.Str())) {
		return append(dst, v.Str()...)
	}
	return notation.BareJSON.Append(dst, v)
}

func appendInt(dst []byte, i int64) []byte { return strconv.AppendInt(dst, i, 10) }

// recordOf returns the record of a vertex or an edge, or nil.
func recordOf(v graph.Value) *graph.Record {
	if v.Kind() == graph.VertexKind {
		return v.Record()
	}
	if v.Kind() == graph.EdgeKind {
		return v.Edge().Record
	}
	return nil
}
