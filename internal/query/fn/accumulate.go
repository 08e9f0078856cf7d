package fn

import (
	"math"
	"math/bits"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/graph/temporal"
)

// The accumulators below have no interface and no allocation a row, for executors that know which aggregate they run. The
// zero value of each is an empty group. None of them counts nulls.

// Count counts.
type Count struct{ n int64 }

// Add counts a value.
func (c *Count) Add(v graph.Value) {
	if !v.IsNull() {
		c.n++
	}
}

// AddN counts n rows.
func (c *Count) AddN(n int64) { c.n += n }

// Merge adds another group's rows.
func (c *Count) Merge(o Count) { c.n += o.n }

// Result is the number of values.
func (c *Count) Result() graph.Value { return graph.IntValue(c.n) }

// Sum adds up integers exactly, floats with a running correction (Neumaier's), and durations group by group.
type Sum struct {
	n        int64 // values
	hi       int64 // the integers' sum, in 128 bits
	lo       uint64
	isFloat  bool // a float was among them
	f, c     float64
	duration temporal.Duration
	isSpan   bool // durations are summed
}

// Add adds a number or a duration.
func (s *Sum) Add(v graph.Value) error { return s.add("sum", v, 1) }

// AddN adds a number or a duration n times, n > 0.
func (s *Sum) AddN(v graph.Value, n int64) error { return s.add("sum", v, n) }

func (s *Sum) add(name string, v graph.Value, n int64) error {
	switch v.Kind() {
	case graph.Null:
		return nil
	case graph.Int:
		if !s.isSpan {
			s.addInt(v.Int(), n)
			return nil
		}
	case graph.Float:
		if !s.isSpan {
			s.n += n
			s.isFloat = true
			s.addFloat(v.Float())
			if n > 1 {
				// The remaining product, and the rounding error so far.
				x, more := v.Float(), float64(n-1)
				s.addFloat(x * more)
				s.c += math.FMA(x, more, -(x * more))
			}
			return nil
		}
	case graph.Duration:
		if s.isSpan || s.n == 0 {
			sum := s.duration
			for d, left := v.Duration(), n; ; {
				var err error
				if left&1 == 1 {
					if sum, err = sum.Add(d); err != nil {
						return graph.TemporalError(err)
					}
				}
				if left >>= 1; left == 0 {
					break
				}
				if d, err = d.Add(d); err != nil {
					return graph.TemporalError(err)
				}
			}
			s.n += n
			s.isSpan, s.duration = true, sum
			return nil
		}
	}
	return graph.TypeError("InvalidArgumentType", "%s() expects numbers alone or durations alone, but got %s", name, notation.Describe(v))
}

// addInt adds i n times, n > 0, in 128 bits.
func (s *Sum) addInt(i, n int64) {
	s.n += n
	hi, lo := bits.Mul64(uint64(i), uint64(n))
	if i < 0 {
		hi -= uint64(n)
	}
	lo, carry := bits.Add64(s.lo, lo, 0)
	s.hi += int64(hi + carry)
	s.lo = lo
}

func (s *Sum) addFloat(x float64) {
	t := s.f + x
	if math.Abs(s.f) >= math.Abs(x) {
		s.c += (s.f - t) + x
	} else {
		s.c += (x - t) + s.f
	}
	s.f = t
}

// Merge adds another group's sum.
func (s *Sum) Merge(o *Sum) error {
	if o.n == 0 {
		return nil
	}
	if s.n > 0 && s.isSpan != o.isSpan {
		return graph.TypeError("InvalidArgumentType", "sum() expects numbers alone or durations alone")
	}
	d, err := s.duration.Add(o.duration)
	if err != nil {
		return graph.TemporalError(err)
	}
	s.duration, s.isSpan = d, o.isSpan
	s.n += o.n
	lo, carry := bits.Add64(s.lo, o.lo, 0)
	s.hi, s.lo = s.hi+o.hi+int64(carry), lo
	s.isFloat = s.isFloat || o.isFloat
	s.addFloat(o.f)
	s.c += o.c
	return nil
}

// whole is the integers' sum, if 64 bits hold it.
func (s *Sum) whole() (int64, bool) { return int64(s.lo), s.hi == int64(s.lo)>>63 }

// float is the sum of all numbers.
func (s *Sum) float() float64 {
	ints := float64(s.hi)*(1<<64) + float64(s.lo)
	if i, ok := s.whole(); ok {
		ints = float64(i)
	}
	if !s.isFloat {
		return ints
	}
	f := s.f + s.c
	if math.IsNaN(f) {
		f = s.f // the correction of an infinite sum is not a number
	}
	return f + ints
}

// Result is the sum: an integer unless there was a float, 0 of nothing, and an error if it does not fit.
func (s *Sum) Result() (graph.Value, error) {
	switch {
	case s.isSpan:
		return graph.DurationValue(s.duration), nil
	case s.isFloat:
		return graph.FloatValue(s.float()), nil
	}
	i, ok := s.whole()
	if !ok {
		return null, graph.RuntimeError("ArithmeticError", "IntegerOverflow", "integer overflow: the sum is too large")
	}
	return graph.IntValue(i), nil
}

// Avg is the mean of numbers, always a float, or of durations.
type Avg struct{ sum Sum }

// Add counts a number or a duration in.
func (a *Avg) Add(v graph.Value) error { return a.sum.add("avg", v, 1) }

// AddN counts a number or a duration in n times, n > 0.
func (a *Avg) AddN(v graph.Value, n int64) error { return a.sum.add("avg", v, n) }

// Merge counts another group's numbers in.
func (a *Avg) Merge(o *Avg) error { return a.sum.Merge(&o.sum) }

// Result is the mean, or null of nothing.
func (a *Avg) Result() (graph.Value, error) {
	switch {
	case a.sum.n == 0:
		return null, nil
	case a.sum.isSpan:
		d, err := a.sum.duration.Div(float64(a.sum.n))
		return durationResult(d, err)
	}
	return graph.FloatValue(a.sum.float() / float64(a.sum.n)), nil
}

// Min keeps the first value in the global order. It stores values as passed: Clone those that do not outlive the call.
type Min struct{ v graph.Value }

// Add compares a value and reports whether it is kept now.
func (m *Min) Add(v graph.Value) bool {
	if v.IsNull() || !m.v.IsNull() && Order(v, m.v) >= 0 {
		return false
	}
	m.v = v
	return true
}

// Merge compares another group's.
func (m *Min) Merge(o Min) { m.Add(o.v) }

// Result is the smallest value, or null of nothing.
func (m *Min) Result() graph.Value { return m.v }

// Max keeps the last value in the global order, as Min the first.
type Max struct{ v graph.Value }

// Add compares a value and reports whether it is kept now.
func (m *Max) Add(v graph.Value) bool {
	if v.IsNull() || !m.v.IsNull() && Order(v, m.v) <= 0 {
		return false
	}
	m.v = v
	return true
}

// Merge compares another group's.
func (m *Max) Merge(o Max) { m.Add(o.v) }

// Result is the largest value, or null of nothing.
func (m *Max) Result() graph.Value { return m.v }

// Deviation is the spread of numbers by Welford's method.
type Deviation struct {
	n        int64
	mean, m2 float64
}

// Add counts a number in.
func (d *Deviation) Add(v graph.Value) error { return d.add("stDev", v) }

func (d *Deviation) add(name string, v graph.Value) error {
	if v.IsNull() {
		return nil
	}
	x, err := numberArg(name, v)
	if err != nil {
		return err
	}
	d.n++
	delta := x - d.mean
	d.mean += delta / float64(d.n)
	d.m2 += delta * (x - d.mean)
	return nil
}

// Merge counts another group's numbers in.
func (d *Deviation) Merge(o Deviation) {
	if o.n == 0 {
		return
	}
	n := d.n + o.n
	delta := o.mean - d.mean
	d.m2 += o.m2 + delta*delta*float64(d.n)*float64(o.n)/float64(n)
	d.mean += delta * float64(o.n) / float64(n)
	d.n = n
}

// Sample is the standard deviation of a sample: with n - 1, and 0 of fewer than two numbers.
func (d *Deviation) Sample() float64 {
	if d.n < 2 {
		return 0
	}
	return math.Sqrt(d.m2 / float64(d.n-1))
}

// population is the standard deviation of a whole population: with n, and 0 of nothing.
func (d *Deviation) population() float64 {
	if d.n == 0 {
		return 0
	}
	return math.Sqrt(d.m2 / float64(d.n))
}
