package spill

import (
	varint "encoding/binary"
	"math"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// AppendValue appends a value of any kind: a byte for the kind, then its contents. Only the process that writes a file reads
// it; the tokens of pages have such values, too. docs/format.md describes stored values.
func AppendValue(dst []byte, v graph.Value) []byte {
	dst = append(dst, byte(v.Kind()))
	switch v.Kind() {
	case graph.Bool:
		if v.Bool() {
			return append(dst, 1)
		}
		return append(dst, 0)
	case graph.Int:
		return varint.AppendVarint(dst, v.Int())
	case graph.Float:
		return varint.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float()))
	case graph.String:
		return appendText(dst, v.Str())
	case graph.Date:
		return varint.AppendVarint(dst, int64(v.Date()))
	case graph.LocalTime:
		return varint.AppendVarint(dst, int64(v.LocalTime()))
	case graph.Time:
		t := v.Time()
		return appendInts(dst, int64(t.Local), int64(t.Offset))
	case graph.LocalDateTime:
		t := v.LocalDateTime()
		return appendInts(dst, t.Sec, int64(t.Nano))
	case graph.DateTime:
		t := v.DateTime()
		return appendText(appendInts(dst, t.Sec, int64(t.Nano), int64(t.Offset)), t.ZoneName())
	case graph.Duration:
		d := v.Duration()
		return appendInts(dst, d.Months, d.Days, d.Seconds, int64(d.Nanos))
	case graph.PointKind:
		p := v.Point()
		dst = varint.AppendUvarint(dst, uint64(p.CRS))
		for _, c := range [...]float64{p.X, p.Y, p.Z} {
			dst = varint.LittleEndian.AppendUint64(dst, math.Float64bits(c))
		}
		return dst
	case graph.Bytes:
		return append(varint.AppendUvarint(dst, uint64(len(v.Bytes()))), v.Bytes()...)
	case graph.VectorKind:
		x := v.Vector()
		return append(varint.AppendUvarint(append(dst, byte(x.Type)), uint64(len(x.Data))), x.Data...)
	case graph.List:
		return appendAll(dst, v.List())
	case graph.Map:
		dst = varint.AppendUvarint(dst, uint64(len(v.Map())))
		for _, e := range v.Map() {
			dst = AppendValue(appendText(dst, e.Key), e.Value)
		}
	case graph.VertexKind:
		return appendRecord(varint.AppendUvarint(dst, uint64(v.Vertex())), v.Record())
	case graph.EdgeKind:
		e := v.Edge()
		for _, n := range [...]uint64{uint64(e.ID), uint64(e.Src), uint64(e.Dst), uint64(e.Type)} {
			dst = varint.AppendUvarint(dst, n)
		}
		return appendRecord(dst, e.Record)
	case graph.PathKind:
		return appendAll(appendAll(dst, v.Path().Vertices), v.Path().Edges)
	}
	return dst
}

// CutValue reads a value off the head of b, which AppendValue has written, and returns what follows; ok is false for other bytes. The value shares
// no memory with b.
func CutValue(b []byte) (v graph.Value, rest []byte, ok bool) {
	d := decoder{b: b}
	v = d.value()
	return v, d.b, !d.bad
}

func appendText(dst []byte, s string) []byte {
	return append(varint.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendInts(dst []byte, ns ...int64) []byte {
	for _, n := range ns {
		dst = varint.AppendVarint(dst, n)
	}
	return dst
}

func appendAll(dst []byte, vs []graph.Value) []byte {
	dst = varint.AppendUvarint(dst, uint64(len(vs)))
	for _, v := range vs {
		dst = AppendValue(dst, v)
	}
	return dst
}

func appendTexts(dst []byte, ss []string) []byte {
	dst = varint.AppendUvarint(dst, uint64(len(ss)))
	for _, s := range ss {
		dst = appendText(dst, s)
	}
	return dst
}

func appendRecord(dst []byte, r *graph.Record) []byte {
	if r == nil {
		return append(dst, 0)
	}
	return appendAll(appendTexts(appendText(appendTexts(append(dst, 1), r.Labels), r.Type), r.Keys), r.Values)
}

// decoder reads values off the head of b; they share no memory with it. After bad is set, its results are undefined.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) fail() { d.b, d.bad = nil, true }

func (d *decoder) uvarint() uint64 {
	n, size := varint.Uvarint(d.b)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) signed() int64 {
	n := d.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) text() string {
	return string(d.take(d.uvarint()))
}

func (d *decoder) float() float64 {
	if b := d.take(8); b != nil {
		return math.Float64frombits(varint.LittleEndian.Uint64(b))
	}
	return 0
}

// count reads the number of elements that take at least a byte each.
func (d *decoder) count() int {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) values() []graph.Value {
	vs := make([]graph.Value, d.count())
	for i := range vs {
		vs[i] = d.value()
	}
	return vs
}

func (d *decoder) texts() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	ss := make([]string, n)
	for i := range ss {
		ss[i] = d.text()
	}
	return ss
}

func (d *decoder) record() *graph.Record {
	if d.byte() == 0 {
		return nil
	}
	return &graph.Record{Labels: d.texts(), Type: d.text(), Keys: d.texts(), Values: d.values()}
}

func (d *decoder) value() graph.Value {
	switch graph.ValueKind(d.byte()) {
	case graph.Null:
	case graph.Bool:
		return graph.BoolValue(d.byte() == 1)
	case graph.Int:
		return graph.IntValue(d.signed())
	case graph.Float:
		return graph.FloatValue(d.float())
	case graph.PointKind:
		return graph.PointValue(graph.Point{CRS: graph.CRS(d.uvarint()), X: d.float(), Y: d.float(), Z: d.float()})
	case graph.Bytes:
		return graph.BytesValue(slices.Clone(d.take(d.uvarint())))
	case graph.VectorKind:
		x := graph.Vector{Type: graph.CoordinateType(d.byte()), Data: slices.Clone(d.take(d.uvarint()))}
		if !x.Canonical() {
			d.fail()
			return graph.Value{}
		}
		return graph.VectorValue(x)
	case graph.String:
		return graph.StringValue(d.text())
	case graph.Date:
		return graph.DateValue(temporal.Date(d.signed()))
	case graph.LocalTime:
		return graph.LocalTimeValue(temporal.LocalTime(d.signed()))
	case graph.Time:
		return graph.TimeValue(temporal.Time{Local: temporal.LocalTime(d.signed()), Offset: int32(d.signed())})
	case graph.LocalDateTime:
		return graph.LocalDateTimeValue(temporal.LocalDateTime{Sec: d.signed(), Nano: int32(d.signed())})
	case graph.DateTime:
		t := temporal.DateTime{Sec: d.signed(), Nano: int32(d.signed()), Offset: int32(d.signed())}
		if name := d.text(); name != "" {
			z, err := temporal.ParseZone(name)
			if err != nil {
				d.fail()
			}
			t.Zone = z.Location
		}
		return graph.DateTimeValue(t)
	case graph.Duration:
		return graph.DurationValue(temporal.Duration{Months: d.signed(), Days: d.signed(), Seconds: d.signed(), Nanos: int32(d.signed())})
	case graph.List:
		return graph.ListValue(d.values())
	case graph.Map:
		m := make([]graph.MapEntry, d.count())
		for i := range m {
			m[i] = graph.MapEntry{Key: d.text(), Value: d.value()}
		}
		return graph.MapValue(m)
	case graph.VertexKind:
		return graph.VertexRecordValue(graph.VertexID(d.uvarint()), d.record())
	case graph.EdgeKind:
		e := &graph.EdgeValue{Edge: graph.Edge{
			ID: graph.EdgeID(d.uvarint()), Src: graph.VertexID(d.uvarint()), Dst: graph.VertexID(d.uvarint()), Type: graph.TypeID(d.uvarint()),
		}}
		e.Record = d.record()
		return graph.EdgeRefValue(e)
	case graph.PathKind:
		return graph.PathValue(&graph.Path{Vertices: d.values(), Edges: d.values()})
	default:
		d.fail()
	}
	return graph.Value{}
}
