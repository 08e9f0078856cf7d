package definition

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Record is a definition in its stored form.
type Record struct {
	Kind, Name string
	Value      []byte
}

// Ref names a definition.
type Ref struct{ Kind, Name string }

// Change puts and drops definitions, all or none. One to drop that there is not changes nothing, nor does one to put that is there with the
// same value; what is both is put.
type Change struct {
	If   uint64 // the version that the set must have, if not 0 and if the change changes something
	Put  []Record
	Drop []Ref
}

// The most that a graph's definitions may take, in bytes: they are part of the catalog that each gateway holds.
const (
	maxKind  = 64
	maxName  = 64 << 10
	maxValue = 1 << 20
	maxTotal = 16 << 20
)

// decoders has, by kind, what decodes all its records, in order of names, to a []T.
var decoders = map[string]func([]Record) (any, error){}

// Kind is a kind of definitions, which decode to Ts.
type Kind[T any] struct{ name string }

// Register makes a kind known. decode must not keep value, and must return an error for what it does not understand. It is called by
// initialization of the package that owns the kind.
func Register[T any](kind string, decode func(name string, value []byte) (T, error)) Kind[T] {
	if kind == "" || len(kind) > maxKind || strings.Contains(kind, "\x00") || decoders[kind] != nil {
		panic("the kind " + kind + " cannot be registered")
	}
	decoders[kind] = func(all []Record) (any, error) {
		out := make([]T, len(all))
		for i, r := range all {
			var err error
			if out[i], err = decode(r.Name, r.Value); err != nil {
				return nil, fmt.Errorf("definition of kind %s, %s: %w", kind, r.Name, err)
			}
		}
		return out, nil
	}
	return Kind[T]{kind}
}

// Record returns the record of a definition.
func (k Kind[T]) Record(name string, value []byte) Record { return Record{k.name, name, value} }

// Ref returns the name of a definition.
func (k Kind[T]) Ref(name string) Ref { return Ref{k.name, name} }

// All returns the definitions of the kind in a set, in order of names; they must not be changed. It is the same slice in later sets until one
// of them changes.
func (k Kind[T]) All(s *Set) []T {
	if l := s.list(k.name); l != nil {
		return l.decoded.([]T)
	}
	return nil
}

// Get returns a definition by name.
func (k Kind[T]) Get(s *Set, name string) (out T, ok bool) {
	l := s.list(k.name)
	if l == nil {
		return out, false
	}
	i, ok := l.find(name)
	if ok {
		out = l.decoded.([]T)[i]
	}
	return out, ok
}

// Set is the definitions of a graph at one time. It does not change; nil is an empty one of version 1.
type Set struct {
	version uint64
	bytes   int
	kinds   map[string]*list
}

// list is the definitions of a kind, of which there are some.
type list struct {
	records []Record // in order of names
	decoded any      // []T
}

func (l *list) find(name string) (int, bool) {
	return slices.BinarySearchFunc(l.records, name, func(r Record, name string) int { return strings.Compare(r.Name, name) })
}

func (s *Set) list(kind string) *list {
	if s == nil {
		return nil
	}
	return s.kinds[kind]
}

// New returns the set of some records. It shares what is decoded with another one, which may be nil, where the records of a kind are the same.
func New(version uint64, all []Record, share *Set) (*Set, error) {
	s := &Set{version: version, kinds: map[string]*list{}}
	for _, r := range all {
		l := s.kinds[r.Kind]
		if l == nil {
			l = &list{}
			s.kinds[r.Kind] = l
		}
		l.records = append(l.records, r)
		s.bytes += r.size()
	}
	for kind, l := range s.kinds {
		slices.SortFunc(l.records, func(a, b Record) int { return strings.Compare(a.Name, b.Name) })
		if old := share.list(kind); old != nil && slices.EqualFunc(l.records, old.records, Record.equal) {
			s.kinds[kind] = old
			continue
		}
		if err := l.decode(kind); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (l *list) decode(kind string) (err error) {
	decode := decoders[kind]
	if decode == nil {
		return fmt.Errorf("definitions of kind %q are not known, which perhaps a newer version has written", kind)
	}
	l.decoded, err = decode(l.records)
	return err
}

func (r Record) size() int { return len(r.Kind) + len(r.Name) + len(r.Value) }

func (r Record) equal(o Record) bool { return r.Name == o.Name && bytes.Equal(r.Value, o.Value) }

// Version grows with every change, from 1.
func (s *Set) Version() uint64 {
	if s == nil {
		return 1
	}
	return s.version
}

// Records returns all definitions in order of kinds and names.
func (s *Set) Records() (all []Record) {
	if s == nil {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(s.kinds)) {
		all = append(all, s.kinds[kind].records...)
	}
	return all
}

// Apply returns the set after a change, and which part of it changes something. If none does, next is s itself.
func (s *Set) Apply(c Change) (next *Set, done Change, err error) {
	done, err = s.effect(c)
	if err != nil || len(done.Put)+len(done.Drop) == 0 {
		return s, done, err
	}
	if c.If != 0 && c.If != s.Version() {
		return s, Change{}, graph.RequestError(graph.KindConflict, "DefinitionsChanged",
			"the definitions of the graph have version %d now, not %d; read them and try again", s.Version(), c.If)
	}
	gone := make(map[Ref]bool, len(done.Put)+len(done.Drop))
	for _, r := range done.Put {
		gone[Ref{r.Kind, r.Name}] = true
	}
	for _, r := range done.Drop {
		gone[r] = true
	}
	all := slices.DeleteFunc(s.Records(), func(r Record) bool { return gone[Ref{r.Kind, r.Name}] })
	next, err = New(s.Version()+1, append(all, done.Put...), s)
	if err != nil {
		return s, Change{}, graph.RequestError(graph.KindInvalid, "InvalidDefinition", "%v", err)
	}
	if next.bytes > maxTotal {
		return s, Change{}, graph.RequestError(graph.KindInvalid, "DefinitionsTooLarge", "the definitions of a graph may take %d bytes, not %d", maxTotal, next.bytes)
	}
	return next, done, nil
}

// effect returns the part of a change that changes something, without repeats, in order of kinds and names. Of two records to put with one
// name, the last counts.
func (s *Set) effect(c Change) (done Change, err error) {
	put := make(map[Ref]Record, len(c.Put))
	for _, r := range c.Put {
		if decoders[r.Kind] == nil || r.Name == "" || len(r.Name) > maxName || len(r.Value) > maxValue {
			return Change{}, graph.RequestError(graph.KindInvalid, "InvalidDefinition",
				"a definition of kind %q has a kind that is not known, a name of %d bytes that is empty or too long, or a value of %d bytes that is too long",
				r.Kind, len(r.Name), len(r.Value))
		}
		put[Ref{r.Kind, r.Name}] = r
	}
	for _, r := range put {
		if old, ok := s.record(r.Kind, r.Name); !ok || !old.equal(r) {
			done.Put = append(done.Put, Record{r.Kind, r.Name, bytes.Clone(r.Value)})
		}
	}
	for _, r := range c.Drop {
		_, there := s.record(r.Kind, r.Name)
		if _, again := put[r]; there && !again {
			done.Drop = append(done.Drop, r)
		}
	}
	slices.SortFunc(done.Put, func(a, b Record) int { return Ref{a.Kind, a.Name}.compare(Ref{b.Kind, b.Name}) })
	slices.SortFunc(done.Drop, Ref.compare)
	done.Drop = slices.Compact(done.Drop)
	return done, nil
}

func (r Ref) compare(o Ref) int {
	return cmp.Or(strings.Compare(r.Kind, o.Kind), strings.Compare(r.Name, o.Name))
}

func (s *Set) record(kind, name string) (Record, bool) {
	l := s.list(kind)
	if l == nil {
		return Record{}, false
	}
	i, ok := l.find(name)
	if !ok {
		return Record{}, false
	}
	return l.records[i], true
}
