package fn

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// addTemporal adds a duration to an instant or a duration, in either order; it is not ok for other operands.
func addTemporal(a, b graph.Value) (v graph.Value, ok bool, err error) {
	switch {
	case b.Kind() == graph.Duration:
		return shift(a, b.Duration())
	case a.Kind() == graph.Duration:
		return shift(b, a.Duration())
	}
	return graph.Value{}, false, nil
}

// subTemporal takes a duration from an instant or a duration; it is not ok for other operands.
func subTemporal(a, b graph.Value) (v graph.Value, ok bool, err error) {
	if b.Kind() != graph.Duration {
		return graph.Value{}, false, nil
	}
	d, err := b.Duration().Negate()
	if err != nil {
		return graph.Value{}, true, graph.TemporalError(err)
	}
	return shift(a, d)
}

// shift moves an instant, or lengthens a duration.
func shift(a graph.Value, d temporal.Duration) (v graph.Value, ok bool, err error) {
	switch a.Kind() {
	case graph.Date:
		t, err := a.Date().Add(d)
		return graph.DateValue(t), true, graph.TemporalError(err)
	case graph.LocalTime:
		return graph.LocalTimeValue(a.LocalTime().Add(d)), true, nil
	case graph.Time:
		return graph.TimeValue(a.Time().Add(d)), true, nil
	case graph.LocalDateTime:
		t, err := a.LocalDateTime().Add(d)
		return graph.LocalDateTimeValue(t), true, graph.TemporalError(err)
	case graph.DateTime:
		t, err := a.DateTime().Add(d)
		return graph.DateTimeValue(t), true, graph.TemporalError(err)
	case graph.Duration:
		t, err := a.Duration().Add(d)
		return graph.DurationValue(t), true, graph.TemporalError(err)
	}
	return graph.Value{}, false, nil
}

func mulDuration(d, n graph.Value) (graph.Value, error) {
	if n.Kind() == graph.Int {
		x, err := d.Duration().MulInt(n.Int())
		return durationResult(x, err)
	}
	x, err := d.Duration().Mul(n.Float())
	return durationResult(x, err)
}

func durationResult(d temporal.Duration, err error) (graph.Value, error) {
	if err != nil {
		return graph.Value{}, graph.TemporalError(err)
	}
	return graph.DurationValue(d), nil
}
