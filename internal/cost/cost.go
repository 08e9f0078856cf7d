// Package cost says what a request takes: what it has taken, and what it is expected to take.
package cost

import (
	"math"
	"strconv"
	"time"
)

// Cost is what a request takes. The zero value is nothing.
type Cost struct {
	Visits int64 // vertices, edges and index entries that it reads, and changes that it makes
	Rows   int64 // of its result
	Bytes  int64 // of its result as it is sent; 0: unknown
	CPU    time.Duration
	Queue  time.Duration // before it ran
}

// Units returns the cost in units, of which limits and quotas count: one for each visit and each row.
func (c Cost) Units() int64 { return c.Visits + c.Rows }

// Told is what an answer tells about its request.
type Told struct {
	Cost
	Estimate float64 // in units, before it ran; negative: there was none
}

// The most that a structured field holds (RFC 9651, sections 3.3.1 and 3.3.2).
const (
	mostInteger = 999_999_999_999_999
	mostDecimal = 999_999_999_999
)

// Append appends a dictionary of structured fields (RFC 9651) with visits, rows, bytes, cpu and queue in milliseconds, and the estimate, if there
// is one, in units.
func (t Told) Append(dst []byte) []byte {
	for _, m := range [...]struct {
		name string
		n    int64
	}{{"visits=", t.Visits}, {", rows=", t.Rows}, {", bytes=", t.Bytes}} {
		dst = strconv.AppendInt(append(dst, m.name...), min(m.n, mostInteger), 10)
	}
	dst = appendMilliseconds(append(dst, ", cpu="...), t.CPU)
	dst = appendMilliseconds(append(dst, ", queue="...), t.Queue)
	if t.Estimate >= 0 {
		dst = strconv.AppendInt(append(dst, ", estimate="...), Whole(t.Estimate), 10)
	}
	return dst
}

// String returns what Append appends.
func (t Told) String() string { return string(t.Append(make([]byte, 0, 96))) }

// appendMilliseconds appends a decimal with three digits after the point at most, and at least one.
func appendMilliseconds(dst []byte, d time.Duration) []byte {
	us := min(d.Microseconds(), mostDecimal*1000)
	dst = append(strconv.AppendInt(dst, us/1000, 10), '.', byte('0'+us/100%10))
	if us %= 100; us > 0 {
		if dst = append(dst, byte('0'+us/10)); us%10 > 0 {
			dst = append(dst, byte('0'+us%10))
		}
	}
	return dst
}

// Whole rounds an estimate to a whole number that a structured field holds.
func Whole(estimate float64) int64 {
	return int64(min(math.Round(estimate), mostInteger))
}
