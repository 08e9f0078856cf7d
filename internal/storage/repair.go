package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/keys"
	"github.com/hopgate/hopgate/internal/storage/kv"
	"github.com/hopgate/hopgate/internal/storage/staging"
	"github.com/hopgate/hopgate/internal/storage/stats"
	"github.com/hopgate/hopgate/internal/storage/view"
)

// Fix is a change of one record that repairs a fault found by a check. It is valid while the record and the owners are as they were checked;
// counters and next ids are repaired in any case.
type Fix struct {
	Shard      int
	Key, Value []byte
	Delete     bool
	// Owners are the vertices and edges that the fix follows from, besides the record itself.
	Owners []graph.IndexOwner
	// Add, if it is not 0, is by how much the record, a counter, is too low.
	Add int64
	// Raise, if it is not 0, is what the record, a next id, must be at least.
	Raise uint64
	// Edge, if it is set, is what becomes of a list.
	Edge *staging.EdgeChange
	// Announce, if it is set, is a label set and a property that a catalog must know instead of a record.
	Announce *Announcement
}

// Announcement says that vertices of a label set may have a property.
type Announcement struct {
	Set  graph.LabelSet
	Prop graph.PropID
}

// Repair applies, in one synced batch, those fixes whose record is still what was's view of the shard shows, and gives
// them. The caller must be the only writer, and calls Reload afterwards.
func (s *Shard) Repair(fixes []Fix, was *view.View) (done []Fix, err error) {
	for _, f := range fixes {
		now, there, err := kv.Get(s.graph.Live(), f.Key, nil)
		if err != nil {
			return nil, err
		}
		switch {
		case f.Add != 0:
			n, _ := binary.Varint(now)
			f.Value, f.Delete = binary.AppendVarint(nil, n+f.Add), n+f.Add == 0
		case f.Raise != 0:
			n, _ := binary.Uvarint(now)
			f.Value = binary.AppendUvarint(nil, max(n, f.Raise))
		default:
			then, ok, err := kv.Get(was.Graph(), f.Key, nil)
			if err != nil {
				return nil, err
			}
			if ok != there || !bytes.Equal(then, now) {
				continue
			}
		}
		done = append(done, f)
	}
	if len(done) == 0 {
		return nil, nil
	}
	return done, s.put(func(b *pebble.Batch) error {
		var errs []error
		for _, f := range done {
			if f.Delete {
				errs = append(errs, b.Delete(f.Key, nil))
			} else {
				errs = append(errs, b.Set(f.Key, f.Value, nil))
			}
		}
		return errors.Join(errs...)
	})
}

// Reload reads again what the shard holds in memory. The caller must be the only writer.
func (s *Shard) Reload() error {
	counters, err := stats.ReadCounters(s.graph.Live())
	if err != nil {
		return err
	}
	sketches, err := stats.ReadSketches(s.graph.Live())
	if err != nil {
		return err
	}
	degrees, err := stats.ReadDegrees(s.graph.Live())
	if err != nil {
		return err
	}
	s.counters, s.sketches, s.degrees = counters, sketches, degrees
	s.version++
	s.deltaCount++ // some fixes are delta records
	for what, p := range s.next.Records() {
		n, err := kv.ReadNumber(s.graph.Live(), keys.MetaKey(what))
		if err != nil {
			return err
		}
		*p = max(*p, n)
	}
	raise(&s.writing.NextVertex, s.next.Vertex)
	raise(&s.writing.NextEdge, s.next.Edge)
	return nil
}

// raise makes a counter at least n.
func raise(c *atomic.Uint64, n uint64) {
	for old := c.Load(); old < n && !c.CompareAndSwap(old, n); old = c.Load() {
	}
}
