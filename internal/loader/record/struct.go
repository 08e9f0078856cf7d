package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// structType is a struct as Hopgate writes values for which Arrow and Parquet have no type. It is read as typed JSON.
type structType struct {
	name string                       // of the type in typed JSON
	text func(fields []string) string // of a value, by the texts of its fields
}

// structTypes are these by the names of their fields.
var structTypes = map[string]*structType{
	"srid x y z":                      {"Point", pointText},
	"time offset":                     {"Time", func(f []string) string { return f[0] + offsetText(f[1]) }},
	"instant zone":                    {"ZonedDateTime", zonedText},
	"months days seconds nanoseconds": {"Duration", durationText},
}

// structOf returns the type of a struct with these fields, or nil.
func structOf(names []string) *structType { return structTypes[strings.Join(names, " ")] }

// append appends a value, or a list of values, by the JSON of its fields.
func (s *structType) append(dst []byte, fields [][]byte) []byte {
	if fields[0][0] != '[' {
		cells := make([]Cell, len(fields))
		for i, f := range fields {
			cells[i] = elements(append(append([]byte{'['}, f...), ']'))[0]
		}
		return s.appendOne(dst, cells)
	}
	lists := make([][]Cell, len(fields))
	for i, f := range fields {
		lists[i] = elements(f)
	}
	dst = append(dst, '[')
	for k := range lists[0] {
		if k > 0 {
			dst = append(dst, ',')
		}
		cells := make([]Cell, len(fields))
		for i := range cells {
			cells[i] = lists[i][k]
		}
		dst = s.appendOne(dst, cells)
	}
	return append(dst, ']')
}

func elements(array []byte) []Cell {
	var l Lines
	return l.Elements(nil, array)
}

func (s *structType) appendOne(dst []byte, cells []Cell) []byte {
	if cells[0].Kind == Null {
		return append(dst, "null"...)
	}
	texts := make([]string, len(cells))
	for i, c := range cells {
		if c.Kind != Null {
			texts[i] = string(c.Text)
		}
	}
	dst = append(append(append(dst, `{"$type":"`...), s.name...), `","_value":`...)
	return append(appendJSONText(dst, []byte(s.text(texts))), '}')
}

func pointText(f []string) string {
	if f[3] == "" {
		return fmt.Sprintf("SRID=%s;POINT (%s %s)", f[0], f[1], f[2])
	}
	return fmt.Sprintf("SRID=%s;POINT Z (%s %s %s)", f[0], f[1], f[2], f[3])
}

// offsetText returns an offset in seconds as the offset of a time. What is none stays as it is, and no time.
func offsetText(seconds string) string {
	n, err := strconv.Atoi(seconds)
	if err != nil {
		return seconds
	}
	form := "Z07:00"
	if n%60 != 0 {
		form = "-07:00:00"
	}
	return time.Time{}.In(time.FixedZone("", n)).Format(form)
}

// zonedText returns an instant in a zone. What is none stays as it is, and no time.
func zonedText(f []string) string {
	at, err := time.Parse(time.RFC3339Nano, f[0])
	zone := temporal.UTC
	if err == nil && f[1] != "UTC" {
		zone, err = temporal.ParseZone(f[1])
	}
	if err != nil {
		return f[0] + "[" + f[1] + "]"
	}
	return string(graph.AppendTemporal(nil, graph.DateTimeValue(temporal.FromTime(at, zone))))
}

func durationText(f []string) string {
	var n [4]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil || i == 3 && (n[i] < 0 || n[i] >= int64(time.Second)) {
			return strings.Join(f, " ") // is no duration
		}
	}
	return temporal.Duration{Months: n[0], Days: n[1], Seconds: n[2], Nanos: int32(n[3])}.String()
}
