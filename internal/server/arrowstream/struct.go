package arrowstream

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// structs make values of the fields of the structs by which the writer represents them, by the names of the fields. No field is null but z.
var structs = map[string]func(f []graph.Value) (graph.Value, error){
	"time offset": timeOf, "instant zone": zonedOf, "months days seconds nanoseconds": durationOf, "srid x y z": pointOf,
}

// structOf returns the function for a type, or for the elements of lists of it; nil if it is none of these structs.
func structOf(t arrow.DataType) func(f []graph.Value) (graph.Value, error) {
	switch t := t.(type) {
	case arrow.ListLikeType:
		return structOf(t.Elem())
	case *arrow.StructType:
		names := make([]string, t.NumFields())
		for i, f := range t.Fields() {
			names[i] = f.Name
		}
		return structs[strings.Join(names, " ")]
	}
	return nil
}

// replaceMaps makes values of the maps of structs, alone or in lists.
func replaceMaps(values []graph.Value, of func(f []graph.Value) (graph.Value, error)) error {
	var fields []graph.Value
	for i, v := range values {
		switch v.Kind() {
		case graph.List:
			if err := replaceMaps(v.List(), of); err != nil {
				return err
			}
		case graph.Map:
			fields = fields[:0]
			for _, e := range v.Map() {
				fields = append(fields, e.Value)
			}
			x, err := of(fields)
			if err != nil {
				return fmt.Errorf("row %d: %w", i, err)
			}
			values[i] = x
		}
	}
	return nil
}

// whole32 returns a 32-bit integer.
func whole32(v graph.Value) (n int32, ok bool) {
	ok = v.Kind() == graph.Int && v.Int() >= math.MinInt32 && v.Int() <= math.MaxInt32
	if ok {
		n = int32(v.Int())
	}
	return n, ok
}

// mostOffset is the largest offset of a time in seconds.
const mostOffset = 18 * 3600

func timeOf(f []graph.Value) (graph.Value, error) {
	offset, ok := whole32(f[1])
	if f[0].Kind() != graph.LocalTime || !ok || offset < -mostOffset || offset > mostOffset {
		return graph.Value{}, fmt.Errorf("a time is a time of day and an offset of up to %d seconds", mostOffset)
	}
	return graph.TimeValue(temporal.Time{Local: f[0].LocalTime(), Offset: offset}), nil
}

func zonedOf(f []graph.Value) (graph.Value, error) {
	if f[0].Kind() != graph.DateTime || f[1].Kind() != graph.String {
		return graph.Value{}, errors.New("an instant is a time in UTC and the name of a zone")
	}
	zone, err := temporal.UTC, error(nil)
	if name := f[1].Str(); name != "UTC" {
		zone, err = temporal.ParseZone(strings.Clone(name))
	}
	return graph.DateTimeValue(f[0].DateTime().In(zone)), err
}

func durationOf(f []graph.Value) (graph.Value, error) {
	for _, n := range f {
		if n.Kind() != graph.Int {
			return graph.Value{}, errors.New("a duration has whole months, days, seconds and nanoseconds")
		}
	}
	nanos := f[3].Int()
	if nanos < 0 || nanos >= int64(time.Second) {
		return graph.Value{}, fmt.Errorf("a duration has less than a second of nanoseconds, not %d", nanos)
	}
	return graph.DurationValue(temporal.Duration{Months: f[0].Int(), Days: f[1].Int(), Seconds: f[2].Int(), Nanos: int32(nanos)}), nil
}

func pointOf(f []graph.Value) (graph.Value, error) {
	srid, ok := whole32(f[0])
	var at []float64
	for _, c := range f[1:] {
		if c.IsNumber() {
			at = append(at, c.Number())
		}
	}
	if !ok || srid < 0 || srid > math.MaxUint16 {
		return graph.Value{}, errors.New("a point has a number of a coordinate reference system")
	}
	p, err := graph.MakePoint(graph.CRS(srid), at...)
	return graph.PointValue(p), err
}
