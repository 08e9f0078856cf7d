package packstream

import (
	"bytes"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

const (
	nanosPerSecond = 1_000_000_000
	nanosPerDay    = 86400 * nanosPerSecond
	// mostOffset is the largest offset from UTC in seconds.
	mostOffset = 18 * 3600
	// mostFields is the number of fields of the largest supported structure.
	mostFields = 8
)

// structureNames names the structures that cannot be parameters.
var structureNames = map[byte]string{
	tagNode: "a node", tagEdge: "a relationship", tagUnbound: "a relationship", tagPath: "a path",
	'?': "a value of an unknown type",
}

// structure decodes a structure of n fields.
func (d *Decoder) structure(n int) (graph.Value, error) {
	tag, err := d.byte()
	if err != nil {
		return graph.Value{}, err
	}
	if err := d.enter(n); err != nil {
		return graph.Value{}, err
	}
	var fields [mostFields]graph.Value
	for i := range n {
		d.owed--
		v, err := d.Value()
		if err != nil {
			return v, err
		}
		if i < mostFields {
			fields[i] = v
		}
	}
	d.leave()
	if n > mostFields {
		d.unfit("unknown structure %02X of %d fields", tag, n)
		return graph.Value{}, nil
	}
	if name, ok := structureNames[tag]; ok {
		d.unfit("%s cannot be a parameter", name)
		return graph.Value{}, nil
	}
	return d.make(tag, fields[:n]), nil
}

// shapes holds the kinds of the fields of structures that can be parameters.
var shapes = map[byte][]graph.ValueKind{
	tagDate: {graph.Int}, tagLocalTime: {graph.Int}, tagTime: {graph.Int, graph.Int}, tagLocalDateTime: {graph.Int, graph.Int},
	tagDuration:       {graph.Int, graph.Int, graph.Int, graph.Int},
	tagOffsetLocal:    {graph.Int, graph.Int, graph.Int},
	tagOffsetDateTime: {graph.Int, graph.Int, graph.Int},
	tagZonedLocal:     {graph.Int, graph.Int, graph.String},
	tagZonedDateTime:  {graph.Int, graph.Int, graph.String},
	tagVector:         {graph.Bytes, graph.Bytes},
	tagPoint2D:        {graph.Int, graph.Float, graph.Float},
	tagPoint3D:        {graph.Int, graph.Float, graph.Float, graph.Float},
}

// make converts a structure to a value, or records why it cannot.
func (d *Decoder) make(tag byte, fields []graph.Value) graph.Value {
	if tag == tagVector && !d.Vectors {
		d.unfit("a vector needs Bolt 6.0")
		return graph.Value{}
	}
	shape, known := shapes[tag]
	utc, local := tag == tagOffsetDateTime || tag == tagZonedDateTime, tag == tagOffsetLocal || tag == tagZonedLocal
	if !known || utc && !d.UTC || local && d.UTC {
		d.unfit("unknown structure %02X", tag)
		return graph.Value{}
	}
	if len(shape) != len(fields) {
		d.unfit("the structure %c has %d fields, not %d", tag, len(shape), len(fields))
		return graph.Value{}
	}
	for i, kind := range shape {
		if fields[i].Kind() != kind {
			d.unfit("field %d of the structure %c must be of the type %v, not %v", i, tag, kind, fields[i].Kind())
			return graph.Value{}
		}
	}
	if tag == tagVector {
		return d.vector(fields[0].Bytes(), fields[1].Bytes())
	}
	n := fields[0].Int()
	switch tag {
	case tagDate:
		if within(n, leastSeconds/86400, mostSeconds/86400) {
			return graph.DateValue(temporal.Date(n))
		}
	case tagLocalTime:
		if n >= 0 && n < nanosPerDay {
			return graph.LocalTimeValue(temporal.LocalTime(n))
		}
	case tagTime:
		if offset := fields[1].Int(); within(offset, -mostOffset, mostOffset) && n >= 0 && n < nanosPerDay {
			return graph.TimeValue(temporal.Time{Local: temporal.LocalTime(n), Offset: int32(offset)})
		}
	case tagPoint2D, tagPoint3D:
		return d.point(fields)
	case tagDuration:
		return d.duration(n, fields[1].Int(), fields[2].Int(), fields[3].Int())
	default:
		return d.dateTime(tag, n, fields[1].Int(), fields[len(fields)-1])
	}
	d.unfit("a field of the structure %c is out of range", tag)
	return graph.Value{}
}

// The times of the first and the last date-time in seconds since 1970; years have up to nine digits.
const leastSeconds, mostSeconds = -31557014167219200, 31556889864403199

// within reports whether n is from least to most.
func within(n, least, most int64) bool { return n >= least && n <= most }

// vector converts the marker of a coordinate type and coordinates to a vector.
func (d *Decoder) vector(marker, data []byte) graph.Value {
	t := 0
	if len(marker) == 1 {
		t = max(bytes.IndexByte(vectorMarkers[:], marker[0]), 0)
	}
	if t == 0 {
		d.unfit("unknown coordinate type %X of vectors", marker)
		return graph.Value{}
	}
	typ := graph.CoordinateType(t)
	data = bytes.Clone(data)
	if len(data)%typ.Size() == 0 {
		reverse(data, typ.Size())
	}
	v, err := graph.NewVector(typ, data)
	if err != nil {
		d.unfit("%v", err)
		return graph.Value{}
	}
	return graph.VectorValue(v)
}

// point converts the number of a system and coordinates to a point.
func (d *Decoder) point(fields []graph.Value) graph.Value {
	srid := fields[0].Int()
	if !within(srid, 0, math.MaxUint16) {
		d.unfit("unknown coordinate reference system %d", srid)
		return graph.Value{}
	}
	var coordinates [3]float64
	for i, c := range fields[1:] {
		coordinates[i] = c.Float()
	}
	p, err := graph.MakePoint(graph.CRS(srid), coordinates[:len(fields)-1]...)
	if err != nil {
		d.unfit("%v", err)
		return graph.Value{}
	}
	return graph.PointValue(p)
}

func (d *Decoder) duration(months, days, seconds, nanos int64) graph.Value {
	carry := nanos / nanosPerSecond
	nanos %= nanosPerSecond
	if nanos < 0 {
		nanos += nanosPerSecond
		carry--
	}
	if carry > 0 && seconds > math.MaxInt64-carry || carry < 0 && seconds < math.MinInt64-carry {
		d.unfit("a field of the structure E is out of range")
		return graph.Value{}
	}
	return graph.DurationValue(temporal.Duration{Months: months, Days: days, Seconds: seconds + carry, Nanos: int32(nanos)})
}

// dateTime converts the seconds and nanoseconds of a structure and its last field (an offset or the name of a zone) to a date-time.
func (d *Decoder) dateTime(tag byte, sec, nano int64, last graph.Value) graph.Value {
	if !within(sec, leastSeconds, mostSeconds) || !within(nano, 0, nanosPerSecond-1) {
		d.unfit("a field of the structure %c is out of range", tag)
		return graph.Value{}
	}
	clock := temporal.LocalDateTime{Sec: sec, Nano: int32(nano)}
	var zone temporal.Zone
	switch tag {
	case tagLocalDateTime:
		return graph.LocalDateTimeValue(clock)
	case tagOffsetDateTime, tagOffsetLocal:
		if !within(last.Int(), -mostOffset, mostOffset) {
			d.unfit("a field of the structure %c is out of range", tag)
			return graph.Value{}
		}
		zone.Offset = int32(last.Int())
	default:
		location, err := temporal.ParseZone(last.Str())
		if err != nil {
			d.unfit("%v", err)
			return graph.Value{}
		}
		zone = location
	}
	if tag == tagOffsetLocal || tag == tagZonedLocal {
		return graph.DateTimeValue(clock.In(zone))
	}
	return graph.DateTimeValue(temporal.DateTime{Sec: sec, Nano: int32(nano)}.In(zone))
}
