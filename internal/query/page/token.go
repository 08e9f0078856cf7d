package page

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec/runtime/spill"
	"github.com/hopgate/hopgate/internal/query/snapshot"
	"github.com/hopgate/hopgate/internal/query/token"
)

const (
	// maxKeys bounds the bytes of the keys in a token.
	maxKeys = 4 << 10
	// maxText bounds the text of a token.
	maxText = 6 << 10
)

// position is what a token says: the row behind which a page begins, and what it is a row of.
type position struct {
	at      snapshot.At
	request [16]byte
	left    int64 // of LIMIT; -1: no limit
	keys    []graph.Value
}

// encode returns the position as bytes: the commit, its time, the hash, the rows left and the keys.
func (p *position) encode() (dst []byte, err error) {
	dst = binary.AppendUvarint(dst, p.at.Commit)
	dst = binary.AppendVarint(dst, p.at.Time)
	dst = append(dst, p.request[:]...)
	dst = binary.AppendUvarint(dst, uint64(p.left+1))
	dst = binary.AppendUvarint(dst, uint64(len(p.keys)))
	start := len(dst)
	for i, v := range p.keys {
		if !held(v) {
			return nil, refuse(KeyUnsupported, "key %d of ORDER BY is of type %s, which no page token holds; order by a property or an id instead", i+1, v.Kind())
		}
		if dst = spill.AppendValue(dst, v); len(dst)-start > maxKeys {
			return nil, refuse(KeyTooLarge, "the keys of the last row of the page take more than the %d bytes that a page token holds; order by shorter ones", maxKeys)
		}
	}
	return dst, nil
}

// parse reads a position; ok is false unless encode returns exactly that.
func parse(b []byte) (p position, ok bool) {
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		ok = ok && n > 0
		b = b[max(n, 0):]
		return v
	}
	ok = true
	p.at.Commit = number()
	t, n := binary.Varint(b)
	if b = b[max(n, 0):]; n <= 0 || len(b) < len(p.request) {
		return p, false
	}
	p.at.Time, p.request, b = t, [16]byte(b), b[len(p.request):]
	left, count := number(), number()
	if !ok || left > 1<<62 || count > uint64(len(b)) {
		return p, false
	}
	p.left = int64(left) - 1
	for range count {
		v, rest, ok := spill.CutValue(b)
		if !ok || !held(v) {
			return p, false
		}
		p.keys, b = append(p.keys, v), rest
	}
	return p, len(b) == 0
}

// held reports whether tokens hold a value: one that a property can have.
func held(v graph.Value) bool {
	switch v.Kind() {
	case graph.Map, graph.VertexKind, graph.EdgeKind, graph.PathKind:
		return false
	case graph.List:
		return !slices.ContainsFunc(v.List(), func(e graph.Value) bool { return !held(e) })
	}
	return true
}

// text signs a position.
func (p *position) text(s *token.Signer) (string, error) {
	b, err := p.encode()
	if err != nil {
		return "", err
	}
	return s.Seal(token.Page, b), nil
}

// read reads a text that the graph has signed.
func read(s *token.Signer, text string) (p position, err error) {
	if len(text) > maxText {
		return p, token.ErrMalformed
	}
	b, err := s.Unseal(token.Page, text)
	if err != nil {
		return p, err
	}
	p, ok := parse(b)
	if !ok {
		return p, token.ErrMalformed
	}
	return p, nil
}

// Request is what a token belongs to, beside the graph.
type Request struct {
	Text   string // of the statement or the fetch, with its kind
	At     string // the moment that the first page is asked to be of, or ""
	Params map[string]graph.Value
}

// hash identifies a request.
func (r *Request) hash() (sum [16]byte) {
	h := sha256.New()
	for _, s := range []string{r.Text, r.At} {
		_, _ = io.WriteString(h, strconv.Itoa(len(s))+":"+s)
	}
	var buf []byte
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		_, _ = io.WriteString(h, strconv.Itoa(len(name))+":"+name)
		buf = spill.AppendValue(buf[:0], r.Params[name])
		_, _ = h.Write(buf)
	}
	var whole [sha256.Size]byte
	copy(sum[:], h.Sum(whole[:0]))
	return sum
}
