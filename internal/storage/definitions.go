package storage

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Definitions returns the definitions of the graph.
func (c *Catalog) Definitions() *definition.Set { return c.state.Load().defined }

// Define changes the definitions, all or none, and durably; see definition.Set.Apply. A commit, which may be nil, tells of it.
func (c *Catalog) Define(change definition.Change, cm *CommitInfo) error {
	return c.change(func(st *catalog, b *pebble.Batch) error {
		next, done, err := st.defined.Apply(change)
		if err != nil || next == st.defined {
			return err
		}
		for _, r := range done.Put {
			err = errors.Join(err, b.Set(definitionKey(r.Kind, r.Name), r.Value, nil))
		}
		for _, r := range done.Drop {
			err = errors.Join(err, b.Delete(definitionKey(r.Kind, r.Name), nil))
		}
		st.version++
		st.defined = next
		err = errors.Join(err, cm.tell(b, SchemaChange{Define: &definition.Change{Put: done.Put, Drop: done.Drop}}))
		return errors.Join(err, b.Set([]byte{byte(keys.Definition)}, binary.AppendUvarint(nil, next.Version()), nil))
	})
}

func definitionKey(kind, name string) []byte {
	key := append([]byte{byte(keys.Definition)}, kind...)
	return append(append(key, 0), name...)
}

// readDefinitions reads the definitions of a graph from its first shard.
func readDefinitions(db pebble.Reader) (*definition.Set, error) {
	version, all := uint64(1), []definition.Record(nil)
	err := kv.Scan(db, keys.Definition, func(k, v []byte) error {
		kind, name, ok := bytes.Cut(k[1:], []byte{0})
		switch {
		case ok:
			all = append(all, definition.Record{Kind: string(kind), Name: string(name), Value: bytes.Clone(v)})
			return nil
		case len(kind) > 0:
			return kv.Corrupt("definition", k, codec.ErrRecord)
		}
		var rest []byte
		if version, rest = codec.Uvarint(v); rest == nil {
			return kv.Corrupt("definition", k, codec.ErrRecord)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	set, err := definition.New(version, all, nil)
	if err != nil {
		return nil, kv.Corrupt("definitions", []byte{byte(keys.Definition)}, err)
	}
	return set, nil
}
