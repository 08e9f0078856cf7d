package shard

import (
	"encoding/binary"
	"errors"
)

// AppendRejected appends refused rows as an outcome stores them: each code with its message once, then by
// row its message, group and number. Nothing is appended if there are none.
func AppendRejected(dst []byte, rs []Rejected) []byte {
	if len(rs) == 0 {
		return dst
	}
	type text struct{ code, msg string }
	numbers := map[text]int{}
	var texts []text
	for i := range rs {
		t := text{rs[i].Code, rs[i].Msg}
		if _, ok := numbers[t]; !ok {
			numbers[t] = len(texts)
			texts = append(texts, t)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(texts)))
	for _, t := range texts {
		for _, s := range []string{t.code, t.msg} {
			dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(rs)))
	for i := range rs {
		r := &rs[i]
		n := uint64(numbers[text{r.Code, r.Msg}]) << 1
		if r.Edge {
			n |= 1
		}
		dst = binary.AppendUvarint(dst, n)
		dst = binary.AppendUvarint(dst, uint64(r.Group))
		dst = binary.AppendUvarint(dst, uint64(r.Row))
	}
	return dst
}

// Fields reads what is stored as numbers (uvarints) and as bytes with their number before them, one after the other.
type Fields struct {
	Rest []byte // the unread rest
	Bad  bool   // something was malformed; all that follows is 0 or empty
}

// Number reads a number.
func (f *Fields) Number() uint64 {
	n, size := binary.Uvarint(f.Rest)
	if size <= 0 {
		f.Rest, f.Bad = nil, true
		return 0
	}
	f.Rest = f.Rest[size:]
	return n
}

// Count reads the number of things that follow and take a byte or more each.
func (f *Fields) Count() int {
	n := f.Number()
	if n > uint64(len(f.Rest)) {
		f.Rest, f.Bad = nil, true
		return 0
	}
	return int(n)
}

// Bytes reads bytes, whose memory they share.
func (f *Fields) Bytes() []byte {
	n := f.Count()
	b := f.Rest[:n:n]
	f.Rest = f.Rest[n:]
	return b
}

var errRejected = errors.New("malformed outcome of a load")

// ReadRejected reads what AppendRejected has written.
func ReadRejected(b []byte) ([]Rejected, error) {
	if len(b) == 0 {
		return nil, nil
	}
	f := Fields{Rest: b}
	texts := make([][2]string, f.Count())
	for i := range texts {
		texts[i] = [2]string{string(f.Bytes()), string(f.Bytes())}
	}
	out := make([]Rejected, f.Count())
	for i := range out {
		n, group, row := f.Number(), f.Number(), f.Number()
		if n>>1 >= uint64(len(texts)) {
			return nil, errRejected
		}
		t := texts[n>>1]
		out[i] = Rejected{Edge: n&1 != 0, Group: int(group), Row: int(row), Code: t[0], Msg: t[1]}
	}
	if f.Bad || len(f.Rest) > 0 {
		return nil, errRejected
	}
	return out, nil
}
