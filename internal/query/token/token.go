package token

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"time"
)

// The errors of Parse.
var (
	// ErrMalformed says that a text is no token, or was changed.
	ErrMalformed = errors.New("the text is not a token, or not whole")
	// ErrOtherGraph says that another graph has made a token, or one of the same name that was dropped since.
	ErrOtherGraph = errors.New("the token is of another graph")
	// ErrExpired says that a token holds no more.
	ErrExpired = errors.New("the token has expired")
)

// Token is a moment of a graph: after a commit of its log or, for a reader of the log, within one.
type Token struct {
	// Commit is the number of a commit, Time its time in nanoseconds since 1970. Two graphs, or a graph before and after it was restored,
	// may have different commits of the same number, but of other times.
	Commit uint64
	Time   int64
	// Event, if not 0, says that only the first so many events of the commit have been read.
	Event uint64
	// Copy says that the reader is within a copy of the whole graph as of the commit.
	Copy bool
	// Expires is when the token ceases to hold, in seconds since 1970; 0: never.
	Expires int64
}

// The first byte: the version, and which fields follow.
const (
	version     = 1
	flagEvent   = 0x10
	flagCopy    = 0x20
	flagExpires = 0x40
	flags       = flagEvent | flagCopy | flagExpires
)

const (
	graphBytes     = 4
	signatureBytes = 16
	maxText        = 128
)

var encoding = base64.RawURLEncoding.Strict()

// Signer writes and reads the tokens of a graph. Only one goroutine at a time may use it.
type Signer struct {
	mac   hash.Hash
	graph [graphBytes]byte
	sum   [sha256.Size]byte
	buf   []byte
}

// NewSigner returns the signer of the graph with a secret.
func NewSigner(key [32]byte) *Signer {
	s := &Signer{mac: hmac.New(sha256.New, key[:])}
	s.mac.Write([]byte("graph"))
	copy(s.graph[:], s.mac.Sum(s.sum[:0]))
	return s
}

func (s *Signer) sign(b []byte) []byte {
	s.mac.Reset()
	s.mac.Write(b)
	return s.mac.Sum(s.sum[:0])[:signatureBytes]
}

// Append appends the text of a token: at most 100 bytes, letters, digits, - and _.
func (s *Signer) Append(dst []byte, t Token) []byte {
	b := append(s.buf[:0], version)
	b = append(b, s.graph[:]...)
	b = binary.AppendUvarint(b, t.Commit)
	b = binary.AppendVarint(b, t.Time)
	if t.Event != 0 {
		b[0] |= flagEvent
		b = binary.AppendUvarint(b, t.Event)
	}
	if t.Copy {
		b[0] |= flagCopy
	}
	if t.Expires != 0 {
		b[0] |= flagExpires
		b = binary.AppendVarint(b, t.Expires)
	}
	b = append(b, s.sign(b)...)
	s.buf = b
	return encoding.AppendEncode(dst, b)
}

// Text returns the text of a token.
func (s *Signer) Text(t Token) string { return string(s.Append(nil, t)) }

// Parse reads the text of a token that holds at a time. Its errors are ErrMalformed, ErrOtherGraph and, with the token, ErrExpired.
func (s *Signer) Parse(text string, now time.Time) (Token, error) {
	if len(text) > maxText {
		return Token{}, ErrMalformed
	}
	b, err := encoding.DecodeString(text)
	if err != nil || len(b) < 1+graphBytes+signatureBytes || b[0]&^flags != version {
		return Token{}, ErrMalformed
	}
	if [graphBytes]byte(b[1:]) != s.graph {
		return Token{}, ErrOtherGraph
	}
	signed := len(b) - signatureBytes
	if !hmac.Equal(s.sign(b[:signed]), b[signed:]) {
		return Token{}, ErrMalformed
	}
	t, err := fieldsOf(b)
	if err != nil {
		return Token{}, err
	}
	return t, t.Check(now)
}

// Unchecked reads the text of a token of any graph, which nobody has signed perhaps.
func Unchecked(text string) (Token, error) {
	if len(text) > maxText {
		return Token{}, ErrMalformed
	}
	b, err := encoding.DecodeString(text)
	if err != nil || len(b) < 1+graphBytes+signatureBytes || b[0]&^flags != version {
		return Token{}, ErrMalformed
	}
	return fieldsOf(b)
}

// fieldsOf reads the fields of a token of the version.
func fieldsOf(b []byte) (Token, error) {
	signed := len(b) - signatureBytes
	t := Token{Copy: b[0]&flagCopy != 0}
	ok, rest := true, b[1+graphBytes:signed]
	number := func() uint64 {
		v, n := binary.Uvarint(rest)
		ok = ok && n > 0
		rest = rest[max(n, 0):]
		return v
	}
	signedNumber := func() int64 {
		v, n := binary.Varint(rest)
		ok = ok && n > 0
		rest = rest[max(n, 0):]
		return v
	}
	t.Commit, t.Time = number(), signedNumber()
	if b[0]&flagEvent != 0 {
		t.Event = number()
	}
	if b[0]&flagExpires != 0 {
		t.Expires = signedNumber()
	}
	if !ok || len(rest) > 0 {
		return Token{}, ErrMalformed
	}
	return t, nil
}

// Check returns ErrExpired if the token holds no more at a time.
func (t *Token) Check(now time.Time) error {
	if t.Expires != 0 && now.Unix() >= t.Expires {
		return ErrExpired
	}
	return nil
}

// Kind is a kind of sealed token.
type Kind byte

// Page is the kind of the tokens of package page.
const Page Kind = 2

// Seal returns the text of a token of another kind, which has its own body: it is signed as those of moments are.
func (s *Signer) Seal(k Kind, body []byte) string {
	b := append(append(s.buf[:0], byte(k)), s.graph[:]...)
	b = append(b, body...)
	b = append(b, s.sign(b)...)
	s.buf = b
	return encoding.EncodeToString(b)
}

// Unseal reads a token that Seal has made. Its errors are ErrMalformed and ErrOtherGraph.
func (s *Signer) Unseal(k Kind, text string) (body []byte, err error) {
	b, err := encoding.DecodeString(text)
	if err != nil || len(b) < 1+graphBytes+signatureBytes || b[0] != byte(k) {
		return nil, ErrMalformed
	}
	if [graphBytes]byte(b[1:]) != s.graph {
		return nil, ErrOtherGraph
	}
	signed := len(b) - signatureBytes
	if !hmac.Equal(s.sign(b[:signed]), b[signed:]) {
		return nil, ErrMalformed
	}
	return b[1+graphBytes : signed], nil
}
