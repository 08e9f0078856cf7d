package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// counting is a load whose every batch adds 1 to some counters, appends to a list and adds an edge for each row, so that a
// batch that is lost or applied twice is seen.
type counting struct {
	t     *testing.T
	store *Store
	g     shard.Graph
	space graph.IndexID
	n     graph.PropID
	log   graph.PropID
	typ   graph.TypeID
	set   graph.LabelSet
}

const countingKeys = 40

func openCounting(t *testing.T, opts Options) *counting {
	ctx := context.Background()
	c := &counting{t: t}
	var err error
	c.store, err = Open(opts)
	require.NoError(t, err)
	c.g, err = c.store.Graph("default")
	require.NoError(t, err)
	tx, err := c.g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	l, err := tx.Label("C")
	require.NoError(t, err)
	c.n, err = tx.Prop("n")
	require.NoError(t, err)
	c.log, err = tx.Prop("log")
	require.NoError(t, err)
	c.typ, err = tx.Type("T")
	require.NoError(t, err)
	c.set, err = tx.LabelSet([]graph.LabelID{l})
	require.NoError(t, err)
	tx.Rollback()
	if len(c.g.Indexes()) == 0 {
		require.NoError(t, c.g.CreateIndex(ctx, graph.Index{Name: "c", Label: "C", Props: []string{"id"}, Unique: true, Indexed: true}))
	}
	c.space = c.g.Indexes()[0].ID
	return c
}

// batch is the same for the same number. A few leave repeated keys as they are, or refuse them.
func (c *counting) batch(seq uint64) *shard.Load {
	rng := rand.New(rand.NewPCG(seq, 5))
	v := shard.LoadVertices{Labels: c.set, Space: c.space, Props: []shard.LoadColumn{
		{Prop: c.n, Strategy: shard.Sum}, {Prop: c.log, Strategy: shard.Append},
	}}
	if seq == 1 || rng.IntN(4) == 0 { // the first has the store remember them from the start
		v.OnDuplicate = shard.OnDuplicate(1 + rng.IntN(2))
	}
	e := shard.LoadEdges{Type: c.typ, SrcSpace: c.space, DstSpace: c.space, Action: shard.Insert}
	for range 1 + rng.IntN(60) {
		k := graph.IntValue(int64(rng.IntN(countingKeys)))
		v.Keys = append(v.Keys, k)
		v.Props[0].Values = append(v.Props[0].Values, graph.IntValue(1))
		v.Props[1].Values = append(v.Props[1].Values, graph.ListValue([]graph.Value{graph.IntValue(int64(seq))}))
		e.Src, e.Dst = append(e.Src, k), append(e.Dst, v.Keys[rng.IntN(len(v.Keys))])
	}
	return &shard.Load{Stream: "s", Seq: seq, Mark: []byte(strconv.FormatUint(seq, 10)), Vertices: []shard.LoadVertices{v}, Edges: []shard.LoadEdges{e}}
}

// state prints all there is.
func (c *counting) state() string {
	ctx := context.Background()
	tx, err := c.g.Begin(ctx, shard.Read)
	require.NoError(c.t, err)
	defer tx.Rollback()
	keys := make([]graph.Value, countingKeys)
	for i := range keys {
		keys[i] = graph.IntValue(int64(i))
	}
	var f shard.Found
	require.NoError(c.t, tx.Seek(ctx, &shard.Seek{Index: c.space, Keys: keys}, &f))
	out := fmt.Sprintln(tx.Counts().Vertices, tx.Counts().Edges, tx.Counts().Ends, tx.Statistics().Props)
	for i := range keys {
		for _, id := range f.IDs[f.Offsets[i]:f.Offsets[i+1]] {
			vals := shard.Columns(2, 1)
			require.NoError(c.t, tx.Properties(ctx, []graph.VertexID{id}, []graph.PropID{c.n, c.log}, vals))
			var degrees [2][1]int
			for dir := range degrees {
				require.NoError(c.t, tx.Degrees(ctx, []graph.VertexID{id}, nil, graph.Direction(dir), degrees[dir][:]))
			}
			out += fmt.Sprintln(i, dumpValue(vals[0][0]), dumpValue(vals[1][0]), degrees)
		}
	}
	return out
}

// TestLoadCrash crashes a load again and again, at moments between and within its batches, and resumes it from what the
// store remembers; the end is that of a load that nothing disturbed.
func TestLoadCrash(t *testing.T) {
	ctx := context.Background()
	const batches = 40
	for seed := range eachSeed(t, seeds(12)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			opts := tiny(rng, 1+int(seed)%3)
			opts.Tuning.IngestBytes = []int{1, 1 << 20}[seed%2]
			opts.Tuning.TableBytes = []int{1, 1 << 20}[seed/2%2]
			opts.FS = vfs.NewMem()
			quiet := openCounting(t, opts)
			outcomes := map[uint64]string{}
			for seq := uint64(1); seq <= batches; seq++ {
				l := quiet.batch(seq)
				require.NoError(t, quiet.g.Load(ctx, l))
				outcomes[seq] = string(l.AppendOutcome(nil))
			}
			want := quiet.state()
			require.NoError(t, quiet.store.Close())

			fs := vfs.NewCrashableMem()
			acked := uint64(0)
			for {
				opts.FS = fs
				c := openCounting(t, opts)
				seq, mark, err := c.g.LoadState(ctx, "s")
				require.NoError(t, err)
				require.GreaterOrEqual(t, seq, acked, "a batch was acknowledged and is lost")
				if seq > 0 {
					require.Equal(t, strconv.FormatUint(seq, 10)+outcomes[seq], string(mark))
				}
				if seq == batches {
					require.Equal(t, want, c.state())
					checkClean(t, c.store, "default")
					require.NoError(t, c.store.Close())
					return
				}
				var done atomic.Uint64
				done.Store(seq)
				finished := make(chan struct{})
				stop := make(chan struct{})
				go func() {
					defer close(finished)
					for n := seq + 1; n <= batches; n++ {
						select {
						case <-stop:
							return
						default:
						}
						// Now and then a batch is sent twice.
						for range 1 + int(n)%2 {
							l := c.batch(n)
							if err := c.g.Load(ctx, l); err != nil {
								t.Error(err)
								return
							}
						}
						done.Store(n)
					}
				}()
				until := min(batches, seq+uint64(rng.IntN(12)))
				for done.Load() < until {
					select {
					case <-finished:
						until = 0
					default:
					}
				}
				acked = done.Load()
				crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
				close(stop)
				<-finished
				require.NoError(t, c.store.Close())
				fs = crashed
			}
		})
	}
}

// TestLoadFullDisk fills the disk at a random moment of each batch of a load that enters as tables, under files of one kind or all, and
// makes room again. A batch waits, or fails as a whole and is sent again; the store takes it without a restart, and the end is that of a
// load that nothing disturbed.
func TestLoadFullDisk(t *testing.T) {
	ctx := context.Background()
	const batches = 16
	for seed := range eachSeed(t, seeds(6)) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			opts := tiny(rng, 1)
			opts.Logger, opts.Tuning.IngestBytes, opts.Tuning.TableBytes = quiet(), 1, []int{1, 1 << 20}[seed%2]
			opts.ValueThreshold = 1 << 20
			opts.FS = vfs.NewMem()
			calm := openCounting(t, opts)
			for seq := uint64(1); seq <= batches; seq++ {
				require.NoError(t, calm.g.Load(ctx, calm.batch(seq)))
			}
			want := calm.state()
			require.NoError(t, calm.store.Close())

			kind := []string{"", "load-", ".sst"}[seed/2%3]
			var room, lacks atomic.Int64 // how many writes succeed, and how many fail then
			var dir atomic.Value         // of tables before they are taken in
			mem := vfs.NewCrashableMem()
			opts.FS = errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == errorfs.OpCreate && strings.HasPrefix(path.Base(op.Path), "load-") {
					dir.Store(path.Dir(op.Path))
				}
				switch op.Kind {
				case errorfs.OpCreate, errorfs.OpLink, errorfs.OpFileWrite, errorfs.OpFileWriteAt:
					if strings.Contains(path.Base(op.Path), kind) && room.Add(-1) < 0 && lacks.Add(-1) >= 0 {
						return syscall.ENOSPC
					}
				}
				return nil
			}))
			c := openCounting(t, opts)
			failed := 0
			for seq, again := uint64(1), false; seq <= batches; {
				if !again {
					lacks.Store(2 + rng.Int64N(3)) // a link that fails becomes a copy
					room.Store(rng.Int64N(60))
				}
				err := c.g.Load(ctx, c.batch(seq))
				last, _, serr := c.g.LoadState(ctx, "s")
				require.NoError(t, serr)
				if err == nil {
					require.Equal(t, seq, last)
					seq, again = seq+1, false
					continue
				}
				failed++
				again = true
				lacks.Store(0)
				require.Equal(t, graph.KindUnavailable, graph.AsError(err).Kind, "%v", err)
				require.ErrorIs(t, err, syscall.ENOSPC)
				require.Equal(t, seq-1, last, "%v", err)
				require.Eventually(t, func() bool { return c.store.Writable() == nil }, time.Minute, time.Millisecond)
			}
			lacks.Store(0)
			require.Eventually(t, func() bool { return c.store.Writable() == nil }, time.Minute, time.Millisecond)
			require.Equal(t, want, c.state())
			checkClean(t, c.store, "default")
			names, err := mem.List(dir.Load().(string))
			require.NoError(t, err)
			require.False(t, slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "load-") }), names)
			opts.FS = mem.CrashClone(vfs.CrashCloneCfg{})
			require.NoError(t, c.store.Close())
			c = openCounting(t, opts)
			require.Equal(t, want, c.state())
			require.NoError(t, c.store.Close())
			require.True(t, kind == "" || failed > 0)
		})
	}
}
