package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
)

// Catalog stores the names and index definitions of a graph in its first shard. A new name is stored at once, in a synced batch of its own,
// even if its transaction does not commit. Catalog implements graph.Catalog.
type Catalog struct {
	shard *Shard
	mu    sync.Mutex // of changes
	state atomic.Pointer[catalog]
}

// catalog is one state, which is never changed.
type catalog struct {
	names [3]names
	sets  map[string]graph.LabelSet // by their labels, big-endian
	// labels of a set at index set; sets 0 and 1 are empty.
	labels  [][]graph.LabelID
	present map[presence]struct{}
	indexes []graph.Index
	ttls    []graph.Index // those with a TTL
	defined *definition.Set
	dropped []graph.IndexID // some of their entries may not be deleted yet
	version uint64
	nextIx  uint32
}

type names struct {
	ids map[string]uint32
	all []string // by id, from 1
}

type presence struct {
	set  graph.LabelSet
	prop graph.PropID
}

// The kinds of records in the keyspace of names; the first three number catalog.names.
const (
	nameLabel byte = iota
	nameType
	nameProp
	nameSet
	nameNextIndex
)

func nameKey(kind byte, id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{byte(keys.Name), kind}, id)
}

// OpenCatalog reads the catalog of a graph from its first shard.
func OpenCatalog(first *Shard) (*Catalog, error) {
	st := &catalog{
		sets: map[string]graph.LabelSet{"": graph.NoLabels}, labels: make([][]graph.LabelID, 2),
		present: map[presence]struct{}{}, nextIx: 1,
	}
	for i := range st.names {
		st.names[i] = names{ids: map[string]uint32{}, all: []string{""}}
	}
	db := first.graph.Live()
	err := kv.Scan(db, keys.Name, func(k, v []byte) error {
		if len(k) != 6 || k[1] > nameNextIndex {
			return kv.Corrupt("name", k, codec.ErrRecord)
		}
		id := binary.BigEndian.Uint32(k[2:])
		switch kind := k[1]; kind {
		case nameNextIndex:
			n, rest := codec.Uvarint(v)
			if rest == nil {
				return kv.Corrupt("name", k, codec.ErrRecord)
			}
			st.nextIx = uint32(n)
		case nameSet:
			if int(id) != len(st.labels) || len(v)%4 != 0 {
				return kv.Corrupt("label set", k, codec.ErrRecord)
			}
			st.sets[string(v)] = graph.LabelSet(id)
			var ls []graph.LabelID
			for ; len(v) > 0; v = v[4:] {
				ls = append(ls, graph.LabelID(binary.BigEndian.Uint32(v)))
			}
			st.labels = append(st.labels, ls)
		default:
			n := &st.names[kind]
			if int(id) != len(n.all) {
				return kv.Corrupt("name", k, codec.ErrRecord)
			}
			n.ids[string(v)] = id
			n.all = append(n.all, string(v))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = kv.Scan(db, keys.Presence, func(k, _ []byte) error {
		if len(k) != 9 {
			return kv.Corrupt("presence", k, codec.ErrRecord)
		}
		st.present[presence{graph.LabelSet(binary.BigEndian.Uint32(k[1:])), graph.PropID(binary.BigEndian.Uint32(k[5:]))}] = struct{}{}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = kv.Scan(db, keys.IndexDef, func(k, v []byte) error {
		ix, err := parseIndex(v)
		if err != nil || len(k) != 5 {
			return kv.Corrupt("index definition", k, codec.ErrRecord)
		}
		ix.ID = graph.IndexID(binary.BigEndian.Uint32(k[1:]))
		if v[0]&indexDropped != 0 {
			st.dropped = append(st.dropped, ix.ID)
			return nil
		}
		st.put(ix)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if st.defined, err = readDefinitions(db); err != nil {
		return nil, err
	}
	c := &Catalog{shard: first}
	c.state.Store(st)
	return c, nil
}

// Label implements graph.Catalog.
func (c *Catalog) Label(name string) (graph.LabelID, bool) {
	id, ok := c.state.Load().names[nameLabel].ids[name]
	return graph.LabelID(id), ok
}

// LabelName implements graph.Catalog.
func (c *Catalog) LabelName(id graph.LabelID) string { return c.name(nameLabel, uint32(id)) }

// Type implements graph.Catalog.
func (c *Catalog) Type(name string) (graph.TypeID, bool) {
	id, ok := c.state.Load().names[nameType].ids[name]
	return graph.TypeID(id), ok
}

// TypeName implements graph.Catalog.
func (c *Catalog) TypeName(id graph.TypeID) string { return c.name(nameType, uint32(id)) }

// Prop implements graph.Catalog.
func (c *Catalog) Prop(name string) (graph.PropID, bool) {
	id, ok := c.state.Load().names[nameProp].ids[name]
	return graph.PropID(id), ok
}

// PropName implements graph.Catalog.
func (c *Catalog) PropName(id graph.PropID) string { return c.name(nameProp, uint32(id)) }

func (c *Catalog) name(kind byte, id uint32) string {
	all := c.state.Load().names[kind].all
	if int(id) >= len(all) {
		return ""
	}
	return all[id]
}

// Labels implements graph.Catalog.
func (c *Catalog) Labels(set graph.LabelSet) []graph.LabelID {
	labels := c.state.Load().labels
	if int(set) >= len(labels) {
		return nil
	}
	return labels[set]
}

// LabelSets implements graph.Catalog.
func (c *Catalog) LabelSets() int { return len(c.state.Load().labels) - 1 }

// AllLabels implements graph.Catalog.
func (c *Catalog) AllLabels() []string { return slices.Clip(c.state.Load().names[nameLabel].all[1:]) }

// AllTypes implements graph.Catalog.
func (c *Catalog) AllTypes() []string { return slices.Clip(c.state.Load().names[nameType].all[1:]) }

// AllProps implements graph.Catalog.
func (c *Catalog) AllProps() []string { return slices.Clip(c.state.Load().names[nameProp].all[1:]) }

// Indexes implements graph.Catalog.
func (c *Catalog) Indexes() []graph.Index { return c.state.Load().indexes }

// Expiries returns the orders in which vertices and edges with a TTL expire; it must not be changed.
func (c *Catalog) Expiries() []graph.Index { return c.state.Load().ttls }

// Version implements graph.Catalog.
func (c *Catalog) Version() uint64 { return c.state.Load().version }

// Changes grows with every change of the catalog.
func (c *Catalog) Changes() uint64 {
	st := c.state.Load()
	n := uint64(len(st.labels)+len(st.present)) + st.version + uint64(st.nextIx)
	for i := range st.names {
		n += uint64(len(st.names[i].all))
	}
	return n
}

// NewLabel returns a label's number, a new one if needed.
func (c *Catalog) NewLabel(name string) (graph.LabelID, error) {
	id, err := c.intern(nameLabel, name)
	return graph.LabelID(id), err
}

// NewType returns an edge type's number, a new one if needed.
func (c *Catalog) NewType(name string) (graph.TypeID, error) {
	id, err := c.intern(nameType, name)
	return graph.TypeID(id), err
}

// NewProp returns a property key's number, a new one if needed.
func (c *Catalog) NewProp(name string) (graph.PropID, error) {
	id, err := c.intern(nameProp, name)
	return graph.PropID(id), err
}

func (c *Catalog) intern(kind byte, name string) (uint32, error) {
	if id, ok := c.state.Load().names[kind].ids[name]; ok {
		return id, nil
	}
	if name == "" {
		return 0, &graph.Error{Kind: graph.KindInvalid, Code: "Neo.ClientError.Schema.TokenNameError", Type: "SemanticError", Phase: graph.PhaseRuntime, Detail: "EmptyName", Msg: "a label, type or property key has no name"}
	}
	var id uint32
	err := c.change(func(st *catalog, b *pebble.Batch) error {
		n := &st.names[kind]
		if have, ok := n.ids[name]; ok {
			id = have
			return nil
		}
		id = uint32(len(n.all))
		name := string([]byte(name))
		n.ids = maps.Clone(n.ids)
		n.ids[name] = id
		n.all = append(slices.Clip(n.all), name)
		return b.Set(nameKey(kind, id), []byte(name), nil)
	})
	return id, err
}

// change applies the batch that f fills, durably, and then publishes the copy of the state that f has changed.
func (c *Catalog) change(f func(st *catalog, b *pebble.Batch) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := *c.state.Load()
	some := false
	err := c.shard.put(func(b *pebble.Batch) error {
		if err := f(&st, b); err != nil {
			return err
		}
		some = !b.Empty()
		return nil
	})
	if err != nil {
		return err
	}
	if some {
		c.state.Store(&st)
	}
	return nil
}

// NewLabelSet returns the number of a set of labels, a new one if needed. Order and duplicates do not matter.
func (c *Catalog) NewLabelSet(labels []graph.LabelID) (graph.LabelSet, error) {
	ls := labels
	if !slices.IsSorted(ls) {
		ls = slices.Sorted(slices.Values(ls))
	}
	ls = slices.Compact(slices.Clone(ls))
	key := make([]byte, 0, 32)
	for _, l := range ls {
		key = binary.BigEndian.AppendUint32(key, uint32(l))
	}
	if id, ok := c.state.Load().sets[string(key)]; ok {
		return id, nil
	}
	var id graph.LabelSet
	err := c.change(func(st *catalog, b *pebble.Batch) error {
		if have, ok := st.sets[string(key)]; ok {
			id = have
			return nil
		}
		id = graph.LabelSet(len(st.labels))
		st.sets = maps.Clone(st.sets)
		st.sets[string(key)] = id
		st.labels = append(slices.Clip(st.labels), ls)
		return b.Set(nameKey(nameSet, uint32(id)), key, nil)
	})
	return id, err
}

// Present records that vertices of a label set may have the properties, before such a vertex is committed. It does no harm if none ever
// is.
func (c *Catalog) Present(set graph.LabelSet, props []graph.Property) error {
	have := c.state.Load().present
	missing := false
	for _, p := range props {
		if _, ok := have[presence{set, p.ID}]; !ok && !p.Value.IsNull() {
			missing = true
		}
	}
	if !missing {
		return nil
	}
	return c.change(func(st *catalog, b *pebble.Batch) error {
		st.present = maps.Clone(st.present)
		for _, p := range props {
			k := presence{set, p.ID}
			if _, ok := st.present[k]; ok || p.Value.IsNull() {
				continue
			}
			st.present[k] = struct{}{}
			key := binary.BigEndian.AppendUint32([]byte{byte(keys.Presence)}, uint32(set))
			if err := b.Set(binary.BigEndian.AppendUint32(key, uint32(p.ID)), nil, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// PropsOf appends the properties that vertices of a label set may have, in ascending order.
func (c *Catalog) PropsOf(dst []graph.PropID, set graph.LabelSet) []graph.PropID {
	st := c.state.Load()
	for p := graph.PropID(1); int(p) < len(st.names[nameProp].all); p++ {
		if _, ok := st.present[presence{set, p}]; ok {
			dst = append(dst, p)
		}
	}
	return dst
}

// NewIndexID reserves the number of a new index.
func (c *Catalog) NewIndexID() (graph.IndexID, error) {
	var id graph.IndexID
	err := c.change(func(st *catalog, b *pebble.Batch) error {
		id = graph.IndexID(st.nextIx)
		st.nextIx++
		return b.Set(nameKey(nameNextIndex, 0), binary.AppendUvarint(nil, uint64(st.nextIx)), nil)
	})
	return id, err
}

// IndexKey is the key of the definition of an index.
func IndexKey(id graph.IndexID) []byte { return keys.AppendNumbered(nil, keys.IndexDef, uint32(id)) }

// PutIndex writes the definition of an index, new or changed. A commit, which may be nil, tells of it.
func (c *Catalog) PutIndex(ix graph.Index, cm *CommitInfo) error {
	return c.change(func(st *catalog, b *pebble.Batch) error {
		st.version++
		st.put(ix)
		return errors.Join(b.Set(IndexKey(ix.ID), appendIndex(nil, ix), nil), cm.tell(b, SchemaChange{Put: &ix}))
	})
}

// list returns the list that an index is in.
func (st *catalog) list(ix graph.Index) *[]graph.Index {
	if ix.TTL > 0 {
		return &st.ttls
	}
	return &st.indexes
}

// put puts an index, new or changed, into a new list.
func (st *catalog) put(ix graph.Index) {
	l := st.list(ix)
	*l = slices.Clone(*l)
	if i := slices.IndexFunc(*l, func(o graph.Index) bool { return o.ID == ix.ID }); i >= 0 {
		(*l)[i] = ix
		return
	}
	*l = append(*l, ix)
}

// DropIndex removes an index from the list. Dropped has its number until RemoveIndex. A commit, which may be nil, tells of it.
func (c *Catalog) DropIndex(ix graph.Index, cm *CommitInfo) error {
	return c.change(func(st *catalog, b *pebble.Batch) error {
		st.version++
		l := st.list(ix)
		*l = slices.DeleteFunc(slices.Clone(*l), func(o graph.Index) bool { return o.ID == ix.ID })
		st.dropped = append(slices.Clip(st.dropped), ix.ID)
		record := appendIndex(nil, ix)
		record[0] |= indexDropped
		return errors.Join(b.Set(IndexKey(ix.ID), record, nil), cm.tell(b, SchemaChange{Drop: &ix}))
	})
}

// Dropped returns the dropped indexes, some of whose entries may not be deleted yet; it must not be changed.
func (c *Catalog) Dropped() []graph.IndexID { return c.state.Load().dropped }

// RemoveIndex forgets a dropped index.
func (c *Catalog) RemoveIndex(id graph.IndexID) error {
	return c.change(func(st *catalog, b *pebble.Batch) error {
		st.dropped = slices.DeleteFunc(slices.Clone(st.dropped), func(o graph.IndexID) bool { return o == id })
		return errors.Join(b.Delete(IndexKey(id), nil), b.Delete(indexMarkKey(id), nil))
	})
}

func indexMarkKey(id graph.IndexID) []byte {
	return keys.AppendNumbered(nil, keys.IndexMark, uint32(id))
}

// IndexMark returns the vertex at which the build of an index continues.
func (c *Catalog) IndexMark(id graph.IndexID) (graph.VertexID, error) {
	n, err := kv.ReadNumber(c.shard.graph.Live(), indexMarkKey(id))
	return graph.VertexID(n), err
}

// SetIndexMark makes the build of an index continue at a vertex, once the changes are committed. The writer must be that of the graph's
// first shard.
func SetIndexMark(w *staging.Writer, id graph.IndexID, from graph.VertexID) {
	w.Overlay().Set(indexMarkKey(id), binary.AppendUvarint(nil, uint64(from)))
}

const (
	indexUnique byte = 1 << iota
	indexRequired
	indexIndexed
	indexOnline
	indexFailed // a failure precedes the name
	indexDropped
	indexTTL  // the TTL in nanoseconds precedes the name and a failure
	indexKind // the kind comes first, followed by the settings of a vector or full-text index; without it, it is a range index
)

func appendIndex(dst []byte, ix graph.Index) []byte {
	flags := byte(0)
	for bit, set := range map[byte]bool{indexUnique: ix.Unique, indexRequired: ix.Required, indexIndexed: ix.Indexed, indexOnline: ix.Online} {
		if set {
			flags |= bit
		}
	}
	parts := append([]string{ix.Name, ix.Label, ix.Type}, ix.Props...)
	if ix.Failure != "" {
		flags |= indexFailed
		parts = slices.Insert(parts, 0, ix.Failure)
	}
	if ix.TTL > 0 {
		flags |= indexTTL
		parts = slices.Insert(parts, 0, strconv.FormatInt(int64(ix.TTL), 10))
	}
	if ix.Kind == graph.VectorIndex {
		v := &ix.Vector
		text := fmt.Sprintf(vectorForm, v.Dimensions, v.Similarity, v.Quantized, v.M, v.EfConstruction)
		if v.HNSW {
			text += vectorHNSW
		}
		parts = slices.Insert(parts, 0, text)
	}
	if ix.Kind == graph.FullTextIndex {
		parts = slices.Insert(parts, 0, appendTextOptions(&ix.Text))
	}
	if ix.Kind != graph.RangeIndex {
		flags |= indexKind
		parts = slices.Insert(parts, 0, ix.Kind.String())
	}
	dst = append(dst, flags)
	for _, s := range parts {
		dst = append(binary.AppendUvarint(dst, uint64(len(s))), s...)
	}
	return dst
}

// vectorForm is how the settings of a vector index are stored: dimensions, similarity, quantization, m and ef_construction.
const vectorForm = "%d %s %t %d %d"

// vectorHNSW follows if searches may use a graph.
const vectorHNSW = " hnsw"

func parseVectorOptions(text string) (v graph.VectorOptions, err error) {
	var name string
	text, v.HNSW = strings.CutSuffix(text, vectorHNSW)
	if _, err := fmt.Sscanf(text, vectorForm, &v.Dimensions, &name, &v.Quantized, &v.M, &v.EfConstruction); err != nil {
		return v, codec.ErrRecord
	}
	var ok bool
	if v.Similarity, ok = graph.ParseSimilarity(name); !ok || v.Dimensions < 0 {
		return v, codec.ErrRecord
	}
	return v, nil
}

func parseIndex(b []byte) (ix graph.Index, err error) {
	if len(b) == 0 {
		return ix, codec.ErrRecord
	}
	flags := b[0]
	ix.Unique, ix.Required = flags&indexUnique != 0, flags&indexRequired != 0
	ix.Indexed, ix.Online = flags&indexIndexed != 0, flags&indexOnline != 0
	var parts []string
	for b = b[1:]; len(b) > 0; {
		n, rest := codec.Uvarint(b)
		if rest == nil || n > uint64(len(rest)) {
			return ix, codec.ErrRecord
		}
		parts = append(parts, string(rest[:n]))
		b = rest[n:]
	}
	if flags&indexKind != 0 && len(parts) > 0 {
		kind, ok := graph.ParseIndexKind(parts[0])
		if !ok {
			return ix, codec.ErrRecord
		}
		ix.Kind, parts = kind, parts[1:]
	}
	if ix.Kind == graph.VectorIndex && len(parts) > 0 {
		if ix.Vector, err = parseVectorOptions(parts[0]); err != nil {
			return ix, err
		}
		parts = parts[1:]
	}
	if ix.Kind == graph.FullTextIndex && len(parts) > 0 {
		if ix.Text, err = parseTextOptions(parts[0]); err != nil {
			return ix, err
		}
		parts = parts[1:]
	}
	if flags&indexTTL != 0 && len(parts) > 0 {
		ttl, err := strconv.ParseInt(parts[0], 10, 64)
		if err != nil || ttl <= 0 {
			return ix, codec.ErrRecord
		}
		ix.TTL, parts = time.Duration(ttl), parts[1:]
	}
	if flags&indexFailed != 0 && len(parts) > 0 {
		ix.Failure, parts = parts[0], parts[1:]
	}
	if len(parts) < 3 {
		return ix, codec.ErrRecord
	}
	ix.Name, ix.Label, ix.Type, ix.Props = parts[0], parts[1], parts[2], slices.Clip(parts[3:])
	return ix, nil
}

// ClearIndex deletes all entries of an index in this shard, durably.
func (s *Shard) ClearIndex(id graph.IndexID) error {
	lower := keys.AppendEntry(nil, id)
	err := s.put(func(b *pebble.Batch) error {
		return errors.Join(
			b.DeleteRange(lower, keys.AppendSuccessor(nil, lower), nil),
			b.Delete(stats.SketchKey(id), nil),
			clearTexts(b, id),
		)
	})
	if err == nil {
		s.sketches = maps.Clone(s.sketches)
		delete(s.sketches, id)
	}
	return err
}

// Announced reports whether vertices with a label set may have a property.
func (c *Catalog) Announced(set graph.LabelSet, prop graph.PropID) bool {
	_, ok := c.state.Load().present[presence{set, prop}]
	return ok
}
