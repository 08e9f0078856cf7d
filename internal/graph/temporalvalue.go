package graph

import (
	"errors"
	"fmt"
	"time"

	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// AppendTemporal appends a temporal value, a point or a vector as openCypher's toString writes it, without quotes.
func AppendTemporal(dst []byte, v Value) []byte {
	switch v.Kind() {
	case Date:
		return v.Date().Append(dst)
	case LocalTime:
		return v.LocalTime().Append(dst)
	case Time:
		return v.Time().Append(dst)
	case LocalDateTime:
		return v.LocalDateTime().Append(dst)
	case DateTime:
		return v.DateTime().Append(dst)
	case Duration:
		return v.Duration().Append(dst)
	case PointKind:
		return v.Point().Append(dst)
	case VectorKind:
		return v.Vector().Append(dst)
	}
	return dst
}

// ParseTemporal parses the text of a temporal value of the kind. zone is that of texts without one, now the time that gives a named zone
// its offset. The error is one of package temporal: see TemporalError.
func ParseTemporal(kind ValueKind, text string, zone temporal.Zone, now time.Time) (Value, error) {
	switch kind {
	case Date:
		t, err := temporal.ParseDate(text)
		return parsed(t, DateValue, err)
	case LocalTime:
		t, err := temporal.ParseLocalTime(text)
		return parsed(t, LocalTimeValue, err)
	case Time:
		t, err := temporal.ParseTime(text, zone, now)
		return parsed(t, TimeValue, err)
	case LocalDateTime:
		t, err := temporal.ParseLocalDateTime(text)
		return parsed(t, LocalDateTimeValue, err)
	case DateTime:
		t, err := temporal.ParseDateTime(text, zone)
		return parsed(t, DateTimeValue, err)
	case Duration:
		t, err := temporal.ParseDuration(text)
		return parsed(t, DurationValue, err)
	}
	return Value{}, fmt.Errorf("%s is not a temporal type", kind)
}

func parsed[T any](t T, value func(T) Value, err error) (Value, error) {
	if err != nil {
		return Value{}, err
	}
	return value(t), nil
}

// TemporalError returns the runtime error of openCypher for an error of package temporal, nil for nil.
func TemporalError(err error) error {
	if err == nil {
		return nil
	}
	detail := "InvalidArgumentValue"
	if t := (*temporal.Error)(nil); errors.As(err, &t) && t.Range {
		detail = "NumberOutOfRange"
	}
	return RuntimeError("ArgumentError", detail, "%s", err.Error())
}
