package packstream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/hopgate/hopgate/internal/graph"
)

// ErrShort means that a value extends beyond the end of its message.
var ErrShort = errors.New("a value extends past the end of its message")

var (
	errText  = errors.New("a string is not UTF-8")
	errDepth = fmt.Errorf("values are nested deeper than %d", MaxDepth)
	errKey   = errors.New("a key of a map is not a string")
)

// Decoder decodes the values of one message. Its results share the message's memory. An error means that the bytes are not PackStream.
// Valid values that the engine does not support become null, and TakeFlaw returns the first of them.
type Decoder struct {
	Form
	buf   []byte
	depth int
	owed  int // values that enclosing lists, maps and structures still need, each at least a byte
	flaw  *FormatError
	// Charge counts memory before the decoder allocates it, and may refuse it; nil: nothing does.
	Charge func(bytes int) error
}

// FormatError describes an unsupported value.
type FormatError struct {
	Path   string // for example, rows[3].at; relative to the decoded value
	Reason string // for example: a node cannot be a parameter
}

// NewDecoder returns a decoder of a message.
func NewDecoder(f Form, message []byte) *Decoder { return &Decoder{Form: f, buf: message} }

// Left returns the number of unread bytes.
func (d *Decoder) Left() int { return len(d.buf) }

// TakeFlaw returns the first unsupported value since the last call, or nil.
func (d *Decoder) TakeFlaw() *FormatError {
	f := d.flaw
	d.flaw = nil
	return f
}

// Value decodes a value.
func (d *Decoder) Value() (graph.Value, error) {
	mark, err := d.byte()
	if err != nil {
		return graph.Value{}, err
	}
	switch {
	case mark < tinyString || mark >= firstTiny:
		return graph.IntValue(int64(int8(mark))), nil
	case mark < tinyList:
		return d.text(int(mark & 15))
	case mark < tinyMap:
		return d.list(int(mark & 15))
	case mark < tinyStruct:
		return d.mapping(int(mark & 15))
	case mark < markNull:
		return d.structure(int(mark & 15))
	}
	switch mark {
	case markNull:
		return graph.Value{}, nil
	case markFalse, markTrue:
		return graph.BoolValue(mark == markTrue), nil
	case markFloat:
		b, err := d.take(8)
		if err != nil {
			return graph.Value{}, err
		}
		return graph.FloatValue(math.Float64frombits(binary.BigEndian.Uint64(b))), nil
	case int8Mark, int8Mark + 1, int8Mark + 2, int8Mark + 3:
		b, err := d.take(1 << (mark - int8Mark))
		if err != nil {
			return graph.Value{}, err
		}
		return graph.IntValue(signed(b)), nil
	case bytes8, bytes8 + 1, bytes8 + 2:
		n, err := d.length(mark - bytes8)
		if err != nil {
			return graph.Value{}, err
		}
		b, err := d.take(n)
		return graph.BytesValue(b), err
	case string8, string8 + 1, string8 + 2:
		n, err := d.length(mark - string8)
		if err != nil {
			return graph.Value{}, err
		}
		return d.text(n)
	case list8, list8 + 1, list8 + 2:
		n, err := d.length(mark - list8)
		if err != nil {
			return graph.Value{}, err
		}
		return d.list(n)
	case map8, map8 + 1, map8 + 2:
		n, err := d.length(mark - map8)
		if err != nil {
			return graph.Value{}, err
		}
		return d.mapping(n)
	case struct8, struct16:
		n, err := d.length(mark - struct8)
		if err != nil {
			return graph.Value{}, err
		}
		return d.structure(n)
	}
	return graph.Value{}, fmt.Errorf("unknown marker %02X", mark)
}

// Struct decodes the header of a structure: its tag and the number of its fields.
func (d *Decoder) Struct() (tag byte, fields int, err error) {
	mark, err := d.byte()
	if err != nil {
		return 0, 0, err
	}
	switch {
	case mark&0xF0 == tinyStruct:
		fields = int(mark & 15)
	case mark == struct8, mark == struct16:
		if fields, err = d.length(mark - struct8); err != nil {
			return 0, 0, err
		}
	default:
		return 0, 0, fmt.Errorf("the marker %02X does not begin a structure", mark)
	}
	tag, err = d.byte()
	return tag, fields, err
}

// signed decodes an integer of 1, 2, 4 or 8 bytes.
func signed(b []byte) int64 {
	switch len(b) {
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(int16(binary.BigEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(b)))
	}
	return int64(binary.BigEndian.Uint64(b))
}

func (d *Decoder) byte() (byte, error) {
	if len(d.buf) == 0 {
		return 0, ErrShort
	}
	b := d.buf[0]
	d.buf = d.buf[1:]
	return b, nil
}

func (d *Decoder) take(n int) ([]byte, error) {
	if n > len(d.buf) {
		return nil, ErrShort
	}
	b := d.buf[:n]
	d.buf = d.buf[n:]
	return b, nil
}

// length decodes a length of 1, 2 or 4 bytes, for size 0, 1 or 2.
func (d *Decoder) length(size byte) (int, error) {
	b, err := d.take(1 << size)
	if err != nil {
		return 0, err
	}
	switch size {
	case 0:
		return int(b[0]), nil
	case 1:
		return int(binary.BigEndian.Uint16(b)), nil
	}
	n := binary.BigEndian.Uint32(b)
	if n > math.MaxInt32 {
		return 0, ErrShort
	}
	return int(n), nil
}

func (d *Decoder) string(n int) (string, error) {
	b, err := d.take(n)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", errText
	}
	return unsafe.String(unsafe.SliceData(b), len(b)), nil
}

func (d *Decoder) text(n int) (graph.Value, error) {
	s, err := d.string(n)
	return graph.StringValue(s), err
}

// enter begins a list, map or structure of that many values. It requires a byte of the message for each, so that memory stays proportional
// to the message's length.
func (d *Decoder) enter(values int) error {
	if d.depth == MaxDepth {
		return errDepth
	}
	if values > len(d.buf)-d.owed {
		return ErrShort
	}
	if d.Charge != nil {
		if err := d.Charge(values * int(unsafe.Sizeof(graph.Value{}))); err != nil {
			return err
		}
	}
	d.depth++
	d.owed += values
	return nil
}

func (d *Decoder) leave() { d.depth-- }

func (d *Decoder) list(n int) (graph.Value, error) {
	if err := d.enter(n); err != nil {
		return graph.Value{}, err
	}
	l := make([]graph.Value, n)
	for i := range l {
		d.owed--
		sound := d.flaw == nil
		v, err := d.Value()
		if err != nil {
			return v, err
		}
		if sound && d.flaw != nil {
			d.flaw.within("[" + strconv.Itoa(i) + "]")
		}
		l[i] = v
	}
	d.leave()
	return graph.ListValue(l), nil
}

// fewKeys bounds the number of keys compared pairwise.
const fewKeys = 16

func (d *Decoder) mapping(n int) (graph.Value, error) {
	if n > math.MaxInt32/2 {
		return graph.Value{}, ErrShort
	}
	if err := d.enter(2 * n); err != nil {
		return graph.Value{}, err
	}
	var seen map[string]struct{}
	if n > fewKeys {
		seen = make(map[string]struct{}, n)
	}
	m := make([]graph.MapEntry, n)
	for i := range m {
		d.owed--
		key, err := d.key()
		if err != nil {
			return graph.Value{}, err
		}
		if twice(key, m[:i], seen) {
			return graph.Value{}, fmt.Errorf("duplicate map key %q", key)
		}
		d.owed--
		sound := d.flaw == nil
		v, err := d.Value()
		if err != nil {
			return v, err
		}
		if sound && d.flaw != nil {
			d.flaw.within("." + key)
		}
		m[i] = graph.MapEntry{Key: key, Value: v}
	}
	d.leave()
	return graph.MapValue(m), nil
}

// twice reports whether a map already has a key, and adds it to seen if that is not nil.
func twice(key string, m []graph.MapEntry, seen map[string]struct{}) bool {
	if seen != nil {
		_, ok := seen[key]
		seen[key] = struct{}{}
		return ok
	}
	for i := range m {
		if m[i].Key == key {
			return true
		}
	}
	return false
}

func (d *Decoder) key() (string, error) {
	mark, err := d.byte()
	if err != nil {
		return "", err
	}
	n := int(mark & 15)
	switch {
	case mark&0xF0 == tinyString:
	case mark >= string8 && mark <= string8+2:
		if n, err = d.length(mark - string8); err != nil {
			return "", err
		}
	default:
		return "", errKey
	}
	return d.string(n)
}

// unfit records an unsupported value, unless one is already recorded.
func (d *Decoder) unfit(format string, args ...any) {
	if d.flaw == nil {
		d.flaw = &FormatError{Reason: fmt.Sprintf(format, args...)}
	}
}

// within prepends the position of the value that contains the flaw.
func (f *FormatError) within(place string) { f.Path = place + f.Path }

// Error returns the reason and the path.
func (f *FormatError) Error() string {
	if f.Path == "" {
		return f.Reason
	}
	return strings.TrimPrefix(f.Path, ".") + ": " + f.Reason
}
