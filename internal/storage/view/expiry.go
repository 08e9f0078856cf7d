package view

import (
	"encoding/binary"
	"math"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/spatial"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// The entries of an index with a TTL are ordered by the time from which the TTL counts, in nanoseconds since 1970 in 8 bytes. So the first
// entry expires first, and a change of the TTL changes no entry. An owner without such a time has no entry.

// AppendIndexed is AppendTuple for any index, also one with a TTL or one of points. Points are ordered by their places, as integers; other
// values have no entry there.
func AppendIndexed(dst []byte, ix *graph.Index, vals []graph.Value) (key []byte, ok, loose bool, err error) {
	switch {
	case ix.Kind == graph.FullTextIndex:
		return dst, false, false, nil // see staging.Texts
	case ix.Kind == graph.PointIndex:
		if vals[0].Kind() != graph.PointKind {
			return dst, false, false, nil
		}
		key, ok = keys.AppendOrdered(dst, graph.IntValue(spatial.Place(vals[0].Point())))
		return key, ok, false, nil
	case ix.TTL == 0:
		return AppendTuple(dst, vals)
	}
	start, ok := expiryStart(vals[0])
	if !ok {
		return dst, false, false, nil
	}
	return AppendStart(dst, start), true, false, nil
}

// AppendStart appends the key of a time, in nanoseconds since 1970, in an index with a TTL.
func AppendStart(dst []byte, start int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(start)^1<<63)
}

// Start reads the time from what follows the index number in the key of an entry; ok is false if it is malformed.
func Start(rest []byte) (start int64, ok bool) {
	if len(rest) != 8+keys.LocalSize {
		return 0, false
	}
	return StartOf(rest[:8])
}

// StartOf reads what AppendStart appended; ok is false if it is malformed.
func StartOf(b []byte) (start int64, ok bool) {
	if len(b) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(b) ^ 1<<63), true
}

// Due returns the time at which something expires, given the time from which its TTL counts, at most math.MaxInt64.
func Due(start int64, ix *graph.Index) int64 {
	if start > math.MaxInt64-int64(ix.TTL) {
		return math.MaxInt64
	}
	return start + int64(ix.TTL)
}

// The least numbers that stand for milliseconds, microseconds and nanoseconds since 1970; below are seconds.
const (
	leastMillis = 1e11
	leastMicros = 1e14
	leastNanos  = 1e17
)

// expiryStart reads the time that a property holds; see graph.TTL.
func expiryStart(v graph.Value) (nanos int64, ok bool) {
	switch v.Kind() {
	case graph.Int:
		switch n := v.Int(); {
		case n >= leastNanos || n <= -leastNanos:
			return n, true
		case n >= leastMicros || n <= -leastMicros:
			return scaled(n, 1e3, 0), true
		case n >= leastMillis || n <= -leastMillis:
			return scaled(n, 1e6, 0), true
		default:
			return scaled(n, 1e9, 0), true
		}
	case graph.Float:
		f := v.Float()
		if math.IsNaN(f) {
			return 0, false
		}
		switch a := math.Abs(f); {
		case a >= leastNanos:
		case a >= leastMicros:
			f *= 1e3
		case a >= leastMillis:
			f *= 1e6
		default:
			f *= 1e9
		}
		if f >= 1<<63 {
			return math.MaxInt64, true
		}
		return int64(max(f, -1<<63)), true
	case graph.DateTime:
		t := v.DateTime()
		return scaled(t.Sec, 1e9, int64(t.Nano)), true
	case graph.LocalDateTime:
		t := v.LocalDateTime()
		return scaled(t.Sec, 1e9, int64(t.Nano)), true
	case graph.Date:
		return scaled(int64(v.Date()), 86400e9, 0), true
	}
	return 0, false
}

// scaled is n units and some nanoseconds, clamped to an int64.
func scaled(n, unit, more int64) int64 {
	switch {
	case n >= math.MaxInt64/unit:
		return math.MaxInt64
	case n <= math.MinInt64/unit:
		return math.MinInt64
	}
	return n*unit + more
}
