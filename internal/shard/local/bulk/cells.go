package bulk

import (
	"bytes"
	"encoding/binary"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// combineCell appends what a property becomes when a row's value, which is not null, meets its old value, a cell that is
// empty if there is none; see combine. Sums of integers and unions of texts never leave their encoded form.
func combineCell(dst []byte, s shard.Strategy, old []byte, new graph.Value) ([]byte, *reject) {
	if s != shard.Override && len(old) > 0 {
		switch {
		case s == shard.Sum && old[0] == byte(graph.Int) && new.Kind() == graph.Int:
			x, _ := binary.Varint(old[1:])
			y := new.Int()
			sum := x + y
			if (sum > x) != (y > 0) {
				return dst, rejectStrategy
			}
			return binary.AppendVarint(append(dst, byte(graph.Int)), sum), nil
		case s == shard.Union && old[0] == byte(graph.List) && new.Kind() == graph.List:
			if out, ok := uniteTexts(dst, old, new.List()); ok {
				return out, nil
			}
		case s == shard.Append && old[0] == byte(graph.List) && new.Kind() == graph.List:
			return appendList(dst, old, new.List())
		}
		was, _, _, _, err := keys.Cell(old)
		if err != nil {
			return dst, rejectStrategy
		}
		var r *reject
		if new, r = combine(s, was, new); r != nil {
			return dst, r
		}
	}
	out, ok := keys.AppendCell(dst, new)
	if !ok {
		return dst, rejectValue
	}
	return out, nil
}

// listBody splits the cell of a list into the number of elements and their cells.
func listBody(cell []byte) (n int, body []byte) {
	count, size := binary.Uvarint(cell[1:])
	return int(count), cell[1+size:]
}

func appendList(dst, old []byte, more []graph.Value) ([]byte, *reject) {
	n, body := listBody(old)
	out := binary.AppendUvarint(append(dst, byte(graph.List)), uint64(n+len(more)))
	out = append(out, body...)
	for _, v := range more {
		var ok bool
		if out, ok = keys.AppendCell(out, v); !ok {
			return dst, rejectValue
		}
	}
	return out, nil
}

// fewTexts is how many texts are compared with each other rather than hashed.
const fewTexts = 64

// uniteTexts appends the first of equal texts of a list's cell and then of a list; ok is false, and dst as it was, if there
// are too many, or others than texts.
func uniteTexts(dst, old []byte, more []graph.Value) (_ []byte, ok bool) {
	n, body := listBody(old)
	if n+len(more) > fewTexts {
		return dst, false
	}
	var ends [fewTexts + 1]int
	count := 0
	out := binary.AppendUvarint(append(dst, byte(graph.List)), uint64(n+len(more)))
	head := len(out)
	ends[0] = head
	take := func(from int) {
		cell := out[from:]
		for i := range count {
			if bytes.Equal(out[ends[i]:ends[i+1]], cell) {
				out = out[:from]
				return
			}
		}
		count++
		ends[count] = len(out)
	}
	for len(body) > 0 {
		if body[0] != byte(graph.String) {
			return dst, false
		}
		rest, err := keys.SkipCell(body)
		if err != nil {
			return dst, false
		}
		from := len(out)
		out = append(out, body[:len(body)-len(rest)]...)
		take(from)
		body = rest
	}
	for _, v := range more {
		if v.Kind() != graph.String {
			return dst, false
		}
		from := len(out)
		out, _ = keys.AppendCell(out, v)
		take(from)
	}
	// Up to 127 elements, their number is one byte.
	out[head-1] = byte(count)
	return out, true
}
