package index

import (
	"bytes"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Span is an interval of the keys of an index, after its number: from Lower on, below Upper. A nil Upper is open.
type Span struct{ Lower, Upper []byte }

// Holds reports whether a key is in the interval.
func (s Span) Holds(key []byte) bool {
	return bytes.Compare(key, s.Lower) >= 0 && (s.Upper == nil || bytes.Compare(key, s.Upper) < 0)
}

// Above leaves of ascending spans what is not below a key.
func Above(spans []Span, lower []byte) []Span {
	for len(spans) > 0 && spans[0].Upper != nil && bytes.Compare(spans[0].Upper, lower) <= 0 {
		spans = spans[1:]
	}
	if len(spans) > 0 && bytes.Compare(spans[0].Lower, lower) < 0 {
		spans[0].Lower = lower
	}
	return spans
}

// Below leaves of ascending spans what is below a key.
func Below(spans []Span, upper []byte) []Span {
	for len(spans) > 0 && bytes.Compare(spans[len(spans)-1].Lower, upper) >= 0 {
		spans = spans[:len(spans)-1]
	}
	if n := len(spans); n > 0 && (spans[n-1].Upper == nil || bytes.Compare(spans[n-1].Upper, upper) > 0) {
		spans[n-1].Upper = upper
	}
	return spans
}

// Spans returns the keys of a range, ascending. What equals nothing, or is too large to be in the index, leaves none.
func Spans(r *shard.Range) []Span {
	var first []byte
	if len(r.Equal) > 0 {
		var ok, loose bool
		var err error
		if first, ok, loose, err = view.AppendTuple(nil, r.Equal); err != nil || !ok || loose {
			return nil
		}
	}
	spans := make([]Span, 0, 1+len(r.Further))
	add := func(lo, hi graph.Value) {
		lower, upper, empty := view.RangeBounds(lo, hi, r.LoOpen, r.HiOpen, r.Prefix)
		switch {
		case empty:
			return
		case first == nil:
		case upper == nil:
			upper = keys.AppendSuccessor(nil, first)
		default:
			upper = slices.Concat(first, upper)
		}
		spans = append(spans, Span{slices.Concat(first, lower), upper})
	}
	add(r.Lo, r.Hi)
	for _, b := range r.Further {
		add(b[0], b[1])
	}
	return spans
}
