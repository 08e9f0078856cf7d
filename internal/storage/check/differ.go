package check

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// differences notes what the last pass has left over.
func (c *checker) differences() {
	items := make([]string, 0, len(c.balance.left))
	for item := range c.balance.left {
		items = append(items, item)
	}
	slices.Sort(items)
	for len(items) > 0 {
		// Items of one identity stand together.
		n, size := 1, identity(items[0])
		for n < len(items) && len(items[n]) >= size && items[n][:size] == items[0][:size] {
			n++
		}
		switch items[0][0] {
		case itemEdge:
			c.edgeDiffers(items[:n])
		case itemMember:
			c.memberDiffers(items[0])
		case itemEntry:
			c.entryDiffers(items[:n])
		case itemLarge:
			c.largeDiffers(items[:n])
		}
		items = items[n:]
	}
}

// identity is how many bytes of an item are its identity.
func identity(item string) int {
	switch item[0] {
	case itemEdge:
		return 1 + 4 + 24
	case itemEntry:
		return 5 + int(binary.BigEndian.Uint32([]byte(item[1:5])))
	case itemLarge:
		return 9
	}
	return len(item)
}

func (c *checker) edgeDiffers(items []string) {
	b := []byte(items[0][1:])
	e := graph.Edge{
		Type: graph.TypeID(binary.BigEndian.Uint32(b)), ID: graph.EdgeID(binary.BigEndian.Uint64(b[4:])),
		Src: graph.VertexID(binary.BigEndian.Uint64(b[12:])), Dst: graph.VertexID(binary.BigEndian.Uint64(b[20:])),
	}
	name := fmt.Sprintf("edge %d of the type %s from %d to %d", uint64(e.ID), c.cat.TypeName(e.Type), uint64(e.Src), uint64(e.Dst))
	var body []byte
	state, out, in := codec.DeltaDeleted, false, false
	for _, item := range items {
		d := c.balance.left[item]
		if d.n > 0 {
			out, body = true, d.aux
		} else {
			in = true
			if len(d.aux) == 1 {
				state = d.aux[0]
			}
		}
	}
	change := &staging.EdgeChange{Vertex: e.Dst, Neighbour: e.Src, Edge: e.ID, Type: e.Type, Dir: graph.In}
	fix := storage.Fix{
		Shard: e.Dst.Shard(), Key: keys.AppendDeltaOne(nil, e.Type, graph.In, e.Dst.Local(), e.Src, e.ID), Edge: change,
		Owners: []graph.IndexOwner{{Edge: e.ID, IsEdge: true}},
	}
	switch {
	case out && e.Dst.Shard() >= len(c.views):
		c.out.add(FaultDangling, nil, "%s: there is no such shard", name)
	case out && !in:
		// What a delta record deletes is packed.
		state = codec.DeltaInserted
		if c.deleted(e) {
			state = codec.DeltaUpdated
		}
		fix.Value, change.What = append([]byte{state}, body...), staging.EdgeAdded
		c.out.add(FaultMirror, []storage.Fix{fix}, "%s is missing in the list of its target", name)
	case out:
		if state == 0 {
			state = codec.DeltaUpdated
		}
		fix.Value, change.What = append([]byte{state}, body...), staging.EdgeChanged
		c.out.add(FaultMirror, []storage.Fix{fix}, "%s has other properties in the list of its target", name)
	default:
		change.What = staging.EdgeRemoved
		if fix.Delete = state == codec.DeltaInserted; !fix.Delete {
			fix.Value = []byte{codec.DeltaDeleted}
		}
		c.out.add(FaultMirror, []storage.Fix{fix}, "%s is missing in the list of its source", name)
	}
}

// deleted reports whether a delta record deletes the edge from the list of its target.
func (c *checker) deleted(e graph.Edge) bool {
	key := keys.AppendDeltaOne(nil, e.Type, graph.In, e.Dst.Local(), e.Src, e.ID)
	b, ok, err := kv.Get(c.views[e.Dst.Shard()].Graph(), key, nil)
	c.fail(err)
	return ok && len(b) > 0 && b[0] == codec.DeltaDeleted
}

func (c *checker) memberDiffers(item string) {
	b := []byte(item[1:])
	l, id := graph.LabelID(binary.BigEndian.Uint32(b)), graph.VertexID(binary.BigEndian.Uint64(b[4:]))
	name := fmt.Sprintf("vertex %d", uint64(id))
	if l != 0 {
		name += ", label " + c.cat.LabelName(l)
	}
	fix := storage.Fix{Shard: id.Shard(), Key: keys.AppendDeltaMember(nil, l, id.Local()), Value: []byte{0}, Owners: []graph.IndexOwner{{Vertex: id}}}
	if c.balance.left[item].n > 0 {
		fix.Value = []byte{1}
		c.out.add(FaultMember, []storage.Fix{fix}, "%s: it is missing among the label's vertices", name)
		return
	}
	c.out.add(FaultMember, []storage.Fix{fix}, "%s: it is among the label's vertices without having it", name)
}

func (c *checker) entryDiffers(items []string) {
	size := identity(items[0])
	key := []byte(items[0][5:size])
	var want, have []string
	for _, item := range items {
		for n := c.balance.left[item].n; n != 0; {
			if n > 0 {
				want = append(want, item)
				n--
			} else {
				have = append(have, item)
				n++
			}
		}
	}
	name := "index"
	id := graph.IndexID(binary.BigEndian.Uint32(key[1:]))
	for _, ix := range c.indexes {
		if ix.ID == id {
			name = "index " + ix.Name
		}
	}
	if len(want) > len(have) && (len(want)-len(have) > 1 || len(have) > 0 || c.taken(items[0][:size])) {
		c.out.add(FaultUnique, nil, "%s: several have the values of the entry %x", name, key[keys.EntrySize:])
		return
	}
	var fixes []storage.Fix
	var owners []graph.IndexOwner
	for _, item := range append(want, have...) {
		if o, err := c.views[shardOf(item, size)].Owner(key, []byte(item[size+4:])); err == nil {
			owners = append(owners, o)
		}
	}
	for _, item := range have {
		if len(want) == 0 || shardOf(item, size) != shardOf(want[0], size) {
			fixes = append(fixes, storage.Fix{Shard: shardOf(item, size), Key: key, Delete: true, Owners: owners})
		}
	}
	what := "it leads to what has other values"
	if len(want) > 0 {
		what = "it is missing"
		if len(have) > 0 {
			what = "it leads elsewhere"
		}
		fixes = append(fixes, storage.Fix{Shard: shardOf(want[0], size), Key: key, Value: []byte(want[0][size+4:]), Owners: owners})
	}
	c.out.add(FaultEntry, fixes, "%s, entry %x: %s", name, key[keys.EntrySize:], what)
}

func shardOf(item string, size int) int { return int(binary.BigEndian.Uint32([]byte(item[size:]))) }

// taken reports whether some shard holds an entry of the key, so that one that is expected too is of another owner.
func (c *checker) taken(ident string) bool {
	key := []byte(ident[5:])
	for _, v := range c.views {
		_, ok, err := kv.Get(v.Graph(), key, nil)
		c.fail(err)
		if ok {
			return true
		}
	}
	return false
}

func (c *checker) largeDiffers(items []string) {
	id := binary.BigEndian.Uint64([]byte(items[0][1:]))
	for _, item := range items {
		if c.balance.left[item].n > 0 {
			size := binary.BigEndian.Uint64([]byte(item[9:]))
			c.out.add(FaultLarge, nil, "large value %d of %d bytes", id, size)
		}
	}
}
