package bolt

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/graph"
)

// Tag is the kind of a message.
type Tag byte

// Messages of clients.
const (
	Hello     Tag = 0x01
	Goodbye   Tag = 0x02
	Reset     Tag = 0x0F
	Run       Tag = 0x10
	Begin     Tag = 0x11
	Commit    Tag = 0x12
	Rollback  Tag = 0x13
	Discard   Tag = 0x2F
	Pull      Tag = 0x3F
	Telemetry Tag = 0x54
	Route     Tag = 0x66
	Logon     Tag = 0x6A
	Logoff    Tag = 0x6B
)

// Messages of the server.
const (
	success = 0x70
	record  = 0x71
	ignored = 0x7E
	failure = 0x7F
)

// layout describes a message: its name, the kinds of its fields, and the first version that has it.
type layout struct {
	name   string
	fields []graph.ValueKind
	since  Version
}

var layouts = map[Tag]layout{
	Hello:     {"HELLO", []graph.ValueKind{graph.Map}, Version{4, 4}},
	Goodbye:   {"GOODBYE", nil, Version{4, 4}},
	Reset:     {"RESET", nil, Version{4, 4}},
	Run:       {"RUN", []graph.ValueKind{graph.String, graph.Map, graph.Map}, Version{4, 4}},
	Begin:     {"BEGIN", []graph.ValueKind{graph.Map}, Version{4, 4}},
	Commit:    {"COMMIT", nil, Version{4, 4}},
	Rollback:  {"ROLLBACK", nil, Version{4, 4}},
	Discard:   {"DISCARD", []graph.ValueKind{graph.Map}, Version{4, 4}},
	Pull:      {"PULL", []graph.ValueKind{graph.Map}, Version{4, 4}},
	Telemetry: {"TELEMETRY", []graph.ValueKind{graph.Int}, Version{5, 4}},
	Route:     {"ROUTE", []graph.ValueKind{graph.Map, graph.List, graph.Map}, Version{4, 4}},
	Logon:     {"LOGON", []graph.ValueKind{graph.Map}, Version{5, 1}},
	Logoff:    {"LOGOFF", nil, Version{5, 1}},
}

// String returns the message's name.
func (t Tag) String() string { return layouts[t].name }

// Tags lists the messages of clients.
func Tags() (tags []Tag) {
	for t := range layouts {
		tags = append(tags, t)
	}
	return tags
}

// message is a message of a client.
type message struct {
	tag    Tag
	fields [3]graph.Value
	flaw   *packstream.FormatError // a value that the engine does not support, or nil
	over   error                   // the limit of memory that the fields exceed, or nil
}

// peek returns a message's tag without decoding the rest.
func peek(raw []byte) Tag {
	if len(raw) < 2 {
		return 0
	}
	_, _, err := packstream.NewDecoder(packstream.Form{}, raw).Struct()
	if err != nil {
		return 0
	}
	if raw[0]&0xF0 == 0xB0 {
		return Tag(raw[1])
	}
	return 0
}

// decode decodes a message, whose memory charge counts unless it is nil. An error is a protocol error.
func decode(v Version, f packstream.Form, raw []byte, charge func(bytes int) error) (m message, err error) {
	d := packstream.NewDecoder(f, raw)
	d.Charge = charge
	tag, fields, err := d.Struct()
	if err != nil {
		return m, err
	}
	m.tag = Tag(tag)
	l, known := layouts[m.tag]
	if !known || !v.from(l.since.Major, l.since.Minor) {
		return m, fmt.Errorf("unknown message %02X", tag)
	}
	if fields != len(l.fields) {
		return m, fmt.Errorf("%s has %d fields, not %d", l.name, len(l.fields), fields)
	}
	for i, kind := range l.fields {
		if m.fields[i], err = d.Value(); err != nil {
			if over := (*graph.Error)(nil); errors.As(err, &over) && over.Kind == graph.KindBudget {
				m.over = over
				return m, nil
			}
			return m, fmt.Errorf("%s: %w", l.name, err)
		}
		flaw := d.TakeFlaw()
		if m.flaw == nil {
			m.flaw = flaw
		}
		if got := m.fields[i].Kind(); got != kind && (got != graph.Null || flaw == nil) {
			return m, fmt.Errorf("%s: field %d must be of the type %v, not %v", l.name, i, kind, got)
		}
	}
	if d.Left() > 0 {
		return m, fmt.Errorf("%s: %d trailing bytes after the message", l.name, d.Left())
	}
	return m, nil
}

// fields reads the fields of a map and ignores unknown ones. err holds the first error of type.
type fields struct {
	of  string // the message
	m   []graph.MapEntry
	err error
}

func (f *fields) get(key string, kind graph.ValueKind) (graph.Value, bool) {
	for i := range f.m {
		if f.m[i].Key != key || f.m[i].Value.IsNull() {
			continue
		}
		if got := f.m[i].Value.Kind(); got != kind {
			if f.err == nil {
				f.err = fmt.Errorf("%s: %s must be of the type %v, not %v", f.of, key, kind, got)
			}
			return graph.Value{}, false
		}
		return f.m[i].Value, true
	}
	return graph.Value{}, false
}

// fail records that a field must be something else, unless there is an error.
func (f *fields) fail(key, must string) {
	if f.err == nil {
		f.err = fmt.Errorf("%s: %s must be %s", f.of, key, must)
	}
}

// address reads an address that other clients may be sent to.
func (f *fields) address() string {
	a := f.text("address")
	if strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		f.fail("address", "HOST:PORT, is "+strconv.Quote(a))
	}
	return a
}

func (f *fields) text(key string) string {
	v, ok := f.get(key, graph.String)
	if !ok {
		return ""
	}
	return v.Str()
}

func (f *fields) int(key string, missing int64) int64 {
	v, ok := f.get(key, graph.Int)
	if !ok {
		return missing
	}
	return v.Int()
}

// texts reads a list of strings; it returns nil if the field is missing.
func (f *fields) texts(key string) []string {
	v, ok := f.get(key, graph.List)
	if !ok {
		return nil
	}
	out, err := textsOf(v)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%s: %s: %w", f.of, key, err)
	}
	return out
}

func textsOf(v graph.Value) ([]string, error) {
	out := make([]string, len(v.List()))
	for i, e := range v.List() {
		if e.Kind() != graph.String {
			return nil, fmt.Errorf("must hold strings, not %v", e.Kind())
		}
		out[i] = e.Str()
	}
	return out, nil
}
