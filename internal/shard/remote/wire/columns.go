package wire

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// Columns travel as bytes:
//
//	ids      number of ids (uvarint), then each as the difference to the one before (zigzag varint)
//	edges    four columns of ids: edges, sources, targets, types
//	values   number of values (uvarint), then their cells, see package keys; a large value of another shard is a reference
//	bools    number of bools (uvarint), then a bitmap
//	set      for each shard from 0 on the number of words of its bitmap (uvarint), then a 0 and the words, little-endian, or
//	         a 1 and a column of its ids, whichever is shorter by estimate
//
// Sorted ids of neighbours take a byte or two each, as in the store. There is no further compression.

// ErrMalformed is the error of a message that cannot be decoded.
var ErrMalformed = errors.New("remote: malformed message")

func zigzag(d int64) uint64   { return uint64(d<<1) ^ uint64(d>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// EncodeIDs encodes a column of ids.
func EncodeIDs[T ~uint64 | ~uint32](ids []T) []byte { return appendIDs(nil, ids) }

func appendIDs[T ~uint64 | ~uint32](dst []byte, ids []T) []byte {
	dst = slices.Grow(dst, 2*len(ids)+8)
	dst = binary.AppendUvarint(dst, uint64(len(ids)))
	last := uint64(0)
	for _, id := range ids {
		dst = binary.AppendUvarint(dst, zigzag(int64(uint64(id)-last)))
		last = uint64(id)
	}
	return dst
}

// count reads a number of items, which take at least least bits each.
func count(b []byte, least uint64) (n int, rest []byte, err error) {
	u, size := binary.Uvarint(b)
	if size <= 0 || u > uint64(len(b)-size)*8/least {
		return 0, nil, ErrMalformed
	}
	return int(u), b[size:], nil
}

// takeIDs appends the ids of a column to dst and returns the bytes after it.
func takeIDs[T ~uint64 | ~uint32](dst []T, b []byte) (ids []T, rest []byte, err error) {
	n, b, err := count(b, 8)
	if err != nil {
		return dst, nil, err
	}
	at := len(dst)
	if cap(dst)-at < n {
		grown := make([]T, at, at+n)
		copy(grown, dst)
		dst = grown
	}
	dst = dst[:at+n]
	last := uint64(0)
	for i := at; i < len(dst); i++ {
		u, size := uint64(0), 0
		if len(b) > 0 && b[0] < 0x80 {
			u, size = uint64(b[0]), 1
		} else if u, size = binary.Uvarint(b); size <= 0 {
			return dst[:at], nil, ErrMalformed
		}
		b = b[size:]
		last += uint64(unzigzag(u))
		dst[i] = T(last)
	}
	return dst, b, nil
}

// DecodeIDs appends the ids of a column, which is all of b, to dst; no bytes are an empty column.
func DecodeIDs[T ~uint64 | ~uint32](dst []T, b []byte) ([]T, error) {
	if len(b) == 0 {
		return dst, nil
	}
	ids, rest, err := takeIDs(dst, b)
	if err == nil && len(rest) > 0 {
		err = ErrMalformed
	}
	return ids, err
}

// EncodeEdges encodes edges.
func EncodeEdges(edges []graph.Edge) (dst []byte) {
	col := make([]uint64, len(edges))
	for c := range 4 {
		for i := range edges {
			e := &edges[i]
			col[i] = [...]uint64{uint64(e.ID), uint64(e.Src), uint64(e.Dst), uint64(e.Type)}[c]
		}
		dst = appendIDs(dst, col)
	}
	return dst
}

// DecodeEdges decodes edges.
func DecodeEdges(b []byte) (edges []graph.Edge, err error) {
	for c := range 4 {
		var col []uint64
		if col, b, err = takeIDs(col, b); err != nil {
			return nil, err
		}
		if c == 0 {
			edges = make([]graph.Edge, len(col))
		}
		if len(col) != len(edges) {
			return nil, ErrMalformed
		}
		for i, id := range col {
			switch c {
			case 0:
				edges[i].ID = graph.EdgeID(id)
			case 1:
				edges[i].Src = graph.VertexID(id)
			case 2:
				edges[i].Dst = graph.VertexID(id)
			case 3:
				edges[i].Type = graph.TypeID(id)
			}
		}
	}
	if len(b) > 0 {
		return nil, ErrMalformed
	}
	return edges, nil
}

// EncodeValues encodes a column of values that can be properties.
func EncodeValues(vals []graph.Value) ([]byte, error) {
	dst := binary.AppendUvarint(nil, uint64(len(vals)))
	for _, v := range vals {
		var ok bool
		if dst, ok = keys.AppendCell(dst, v); !ok {
			return dst, graph.TypeError("InvalidPropertyType", "a value of type %s cannot be stored as a property", v.Kind())
		}
	}
	return dst, nil
}

// EncodeRead is EncodeValues for what a local transaction has read, which may be references to large values.
func EncodeRead(vals []graph.Value) ([]byte, error) {
	dst := binary.AppendUvarint(make([]byte, 0, 8*len(vals)+8), uint64(len(vals)))
	for _, v := range vals {
		if ref, ok := shard.AsLargeRef(v); ok {
			dst = keys.AppendRef(dst, keys.Ref(ref))
			continue
		}
		var ok bool
		if dst, ok = keys.AppendCell(dst, v); !ok {
			return dst, graph.InternalError("remote: cannot encode a property of kind "+v.Kind().String(), nil)
		}
	}
	return dst, nil
}

// Large is a large value that an answer has as a reference: value Row of column Col.
type Large struct {
	Col, Row int
	Ref      keys.Ref
}

// DecodeValues appends the values of a column, which is all of b, to dst, and the references in it to large, as those of column col. Without
// large, references are malformed.
func DecodeValues(dst []graph.Value, b []byte, col int, large *[]Large) ([]graph.Value, error) {
	if len(b) == 0 {
		return dst, nil
	}
	n, b, err := count(b, 8)
	if err != nil {
		return dst, err
	}
	for range n {
		v, ref, isRef, rest, err := keys.Cell(b)
		if err != nil || isRef && large == nil {
			return dst, errors.Join(ErrMalformed, err)
		}
		if isRef {
			*large = append(*large, Large{col, len(dst), ref})
		}
		dst = append(dst, v)
		b = rest
	}
	if len(b) > 0 {
		return dst, ErrMalformed
	}
	return dst, nil
}

// EncodeBools encodes a column of bools.
func EncodeBools(bools []bool) []byte {
	dst := binary.AppendUvarint(nil, uint64(len(bools)))
	for i := 0; i < len(bools); i += 8 {
		w := byte(0)
		for j, b := range bools[i:min(i+8, len(bools))] {
			if b {
				w |= 1 << j
			}
		}
		dst = append(dst, w)
	}
	return dst
}

// DecodeBools appends the bools of a column, which is all of b, to dst.
func DecodeBools(dst []bool, b []byte) ([]bool, error) {
	if len(b) == 0 {
		return dst, nil
	}
	n, b, err := count(b, 1)
	if err != nil || len(b) != (n+7)/8 {
		return dst, ErrMalformed
	}
	for i := range n {
		dst = append(dst, b[i/8]>>(i%8)&1 != 0)
	}
	return dst, nil
}

// EncodeSet encodes a set of vertices, or only those of one shard if only is not negative.
func EncodeSet(s *graph.VertexSet, only int) (dst []byte) {
	for no := range s.Shards() {
		m := s.Bitmap(no)
		if only >= 0 && no != only {
			m = nil
		}
		for len(m) > 0 && m[len(m)-1] == 0 {
			m = m[:len(m)-1]
		}
		dst = binary.AppendUvarint(dst, uint64(len(m)))
		if len(m) == 0 {
			continue
		}
		n := 0
		for _, w := range m {
			n += bits.OnesCount64(w)
		}
		if n >= 4*len(m) {
			dst = append(dst, 0)
			for _, w := range m {
				dst = binary.LittleEndian.AppendUint64(dst, w)
			}
			continue
		}
		dst = binary.AppendUvarint(append(slices.Grow(dst, 2*n+8), 1), uint64(n))
		last := int64(0)
		for i, w := range m {
			for ; w != 0; w &= w - 1 {
				id := int64(i*64 + bits.TrailingZeros64(w))
				dst = binary.AppendUvarint(dst, zigzag(id-last))
				last = id
			}
		}
	}
	return dst
}

// EncodeSorted encodes sorted, distinct vertices as a set.
func EncodeSorted(vs []graph.VertexID) (dst []byte) {
	for no := 0; len(vs) > 0; no++ {
		n := len(vs)
		if vs[n-1].Shard() != no {
			n, _ = slices.BinarySearch(vs, graph.MakeVertexID(no+1, 0))
		}
		if n == 0 {
			dst = append(dst, 0)
			continue
		}
		dst = binary.AppendUvarint(dst, vs[n-1].Local()/64+1)
		dst = binary.AppendUvarint(append(slices.Grow(dst, 2*n+8), 1), uint64(n))
		last := graph.MakeVertexID(no, 0)
		for _, v := range vs[:n] {
			dst = binary.AppendUvarint(dst, zigzag(int64(v-last)))
			last = v
		}
		vs = vs[n:]
	}
	return dst
}

// MaxWords bounds the bitmap of a shard: 2^32 vertices.
const MaxWords = 1 << 26

// AddSet adds an encoded set to s, and returns how many vertices are new to s. It refuses sets with more than most words in a bitmap.
func AddSet(s *graph.VertexSet, b []byte, most uint64) (added int, err error) {
	for no := 0; len(b) > 0; no++ {
		u, size := binary.Uvarint(b)
		if size <= 0 || u > most || no > 1<<16 {
			return 0, ErrMalformed
		}
		b = b[size:]
		if u == 0 {
			continue
		}
		if len(b) == 0 {
			return 0, ErrMalformed
		}
		form := b[0]
		b = b[1:]
		if form == 0 {
			if uint64(len(b))/8 < u {
				return 0, ErrMalformed
			}
			m := s.Grow(no, u*64)
			for i := range u {
				w := binary.LittleEndian.Uint64(b[8*i:])
				added += bits.OnesCount64(w &^ m[i])
				m[i] |= w
			}
			b = b[8*u:]
			continue
		}
		ids, rest, err := takeIDs([]uint64(nil), b)
		if err != nil {
			return 0, err
		}
		b = rest
		if len(ids) == 0 || slices.Max(ids)/64 != u-1 { // a bitmap must not be longer than necessary
			return 0, ErrMalformed
		}
		m := s.Grow(no, u*64)
		for _, id := range ids {
			bit := uint64(1) << (id % 64)
			if m[id/64]&bit == 0 {
				m[id/64] |= bit
				added++
			}
		}
	}
	return added, nil
}

// Numbers converts numbers from one type to another.
func Numbers[T, F ~uint32 | ~uint64 | ~int | ~int64](from []F) []T {
	if from == nil {
		return nil
	}
	to := make([]T, len(from))
	for i, n := range from {
		to[i] = T(n)
	}
	return to
}

// MaxRoom bounds how many rows a request may ask for.
const MaxRoom = 1 << 16

// InShard returns the distinct vertices that are in a shard, sorted.
func InShard(vs []graph.VertexID, shard int) (own []graph.VertexID) {
	for _, v := range vs {
		if v.Shard() == shard {
			own = append(own, v)
		}
	}
	slices.Sort(own)
	return slices.Compact(own)
}
