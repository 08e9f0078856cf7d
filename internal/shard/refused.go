package shard

import (
	"encoding/binary"
	"errors"
)

// AppendRejected appends refused rows as they are stored behind the mark of a load: each code with its message once, then by
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

var errRejected = errors.New("malformed list of refused rows")

// ReadRejected reads what AppendRejected has written.
func ReadRejected(b []byte) ([]Rejected, error) {
	if len(b) == 0 {
		return nil, nil
	}
	bad := false
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			b, bad = nil, true
			return 0
		}
		b = b[size:]
		return n
	}
	count := func() uint64 { // of things that take a byte or more each
		n := number()
		if n > uint64(len(b)) {
			bad = true
			return 0
		}
		return n
	}
	text := func() string {
		n := count()
		s := string(b[:n])
		b = b[n:]
		return s
	}
	texts := make([][2]string, count())
	for i := range texts {
		texts[i] = [2]string{text(), text()}
	}
	out := make([]Rejected, count())
	for i := range out {
		n, group, row := number(), number(), number()
		if n>>1 >= uint64(len(texts)) {
			return nil, errRejected
		}
		t := texts[n>>1]
		out[i] = Rejected{Edge: n&1 != 0, Group: int(group), Row: int(row), Code: t[0], Msg: t[1]}
	}
	if bad || len(b) > 0 {
		return nil, errRejected
	}
	return out, nil
}
