package storage

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
)

// Digest is the SHA-256 of all records of a shard in one version, each with the lengths of its key and value. Replicas that hold the
// version have the same digest, however their tables lie on disk.
type Digest [sha256.Size]byte

// Digest returns the digest of a version of a writer's epoch; see View for its errors. Of large values it takes those that the version
// owns: others may be written, or deleted, between two versions.
func (p *Part) Digest(ctx context.Context, epoch, version uint64) (d Digest, err error) {
	v, _, done, err := p.View(epoch, version)
	if err != nil {
		return d, err
	}
	defer done()
	w := digester{ctx: ctx, h: sha256.New()}
	if err := kv.ScanRange(v.Graph(), kv.AppliedEnd, nil, w.record); err != nil {
		return d, err
	}
	next, err := kv.ReadNumber(v.Graph(), keys.MetaKey(keys.MetaNextValue))
	if err != nil {
		return d, err
	}
	garbage, err := kv.NewIter(v.Graph(), &pebble.IterOptions{})
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, garbage.Close()) }()
	var mark []byte
	err = kv.ScanRange(v.Values(), kv.AppliedEnd, nil, func(k, value []byte) error {
		if len(k) == 8 {
			id := binary.BigEndian.Uint64(k)
			mark = keys.AppendGarbage(mark[:0], id)
			if graph.EdgeID(id).Local() >= next || garbage.SeekGE(mark) && string(garbage.Key()) == string(mark) {
				return garbage.Error()
			}
		}
		return w.record(k, value)
	})
	w.h.Sum(d[:0])
	return d, err
}

// digester hashes records.
type digester struct {
	ctx     context.Context
	h       hash.Hash
	lengths [16]byte
}

func (w *digester) record(k, v []byte) error {
	if err := kv.Alive(w.ctx); err != nil {
		return err
	}
	binary.BigEndian.PutUint64(w.lengths[:], uint64(len(k)))
	binary.BigEndian.PutUint64(w.lengths[8:], uint64(len(v)))
	_, _ = w.h.Write(w.lengths[:])
	_, _ = w.h.Write(k)
	_, _ = w.h.Write(v)
	return nil
}
