package storage

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/storage/codec"
	"github.com/hopgate/hopgate/internal/storage/staging"
)

// TestBulkCrash crashes at moments within the commits of bulks, as tables and through the log. What is there afterwards is what some
// number of whole commits have made, among them all that were acknowledged.
func TestBulkCrash(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 5))
			mem := vfs.NewCrashableMem()
			type crash struct {
				fs    *vfs.MemFS
				acked uint64
			}
			var mu sync.Mutex // of what follows
			var crashes []crash
			loading, acked, writes := false, uint64(0), rnd.IntN(15)
			o := &Options{Dir: "data", ValueThreshold: 64}
			o.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				mu.Lock()
				defer mu.Unlock()
				if writes--; loading && writes < 0 && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
					crashes = append(crashes, crash{mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rnd.IntN(101), RNG: rnd}), acked})
					writes = rnd.IntN(30)
				}
				return nil
			}))
			o.Tuning = Tuning{IngestBytes: []int{1, 1 << 30}[seed%2], TableBytes: 1 << 10, SegmentBytes: 100}
			o.EnsureDefaults()
			s := open(t, o, CreateShard)
			note := func(on bool, n uint64) {
				mu.Lock()
				defer mu.Unlock()
				loading, acked = on, n
			}
			note(true, 0)
			made := rand.New(rand.NewPCG(seed, 6))
			m := &bulkModel{lists: [2]map[uint64][]codec.ListEdge{{}, {}}}
			states := []*bulkModel{m.clone()}
			intents := uint64(0)
			for round := range uint64(4) {
				w := s.NewWriter()
				b := w.NewBulk()
				m.vertices(t, made, b)
				m.edges(t, made, b)
				w.SetMark("stream", round+1, nil)
				states = append(states, m.clone())
				wait, err := Commit([]*Shard{s}, []*staging.Writer{w}, &CommitInfo{}, &intents)
				require.NoError(t, err)
				require.NoError(t, wait())
				note(true, round+1)
			}
			note(false, 0)
			require.NoError(t, s.Close())
			require.NotEmpty(t, crashes)
			for _, c := range crashes {
				o := &Options{Dir: "data", FS: c.fs, ValueThreshold: 64, Tuning: o.Tuning}
				o.EnsureDefaults()
				s := open(t, o, OpenShard)
				v, err := s.Snapshot()
				require.NoError(t, err)
				seq, _, err := v.Mark("stream")
				require.NoError(t, err)
				require.NoError(t, v.Close())
				require.GreaterOrEqual(t, seq, c.acked, "an acknowledged commit is lost")
				states[seq].check(t, s, seq)
				names, err := c.fs.List("data/0")
				require.NoError(t, err)
				require.False(t, slices.ContainsFunc(names, func(n string) bool { return n != graphDir && n != valuesDir }), "files are left: %v", names)
				require.NoError(t, s.Close())
			}
		})
	}
}

// clone copies the model.
func (m *bulkModel) clone() *bulkModel {
	c := &bulkModel{sets: slices.Clone(m.sets), props: slices.Clone(m.props), edge: m.edge}
	for dir := range m.lists {
		c.lists[dir] = maps.Clone(m.lists[dir])
	}
	if c.sets == nil {
		c.sets = []graph.LabelSet{}
	}
	return c
}
