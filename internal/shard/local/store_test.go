package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/storage"
	"github.com/hopgate/hopgate/internal/storage/keys"
)

// holdEnv makes TestMain hold a data directory instead of running tests.
const holdEnv = "HOPGATE_TEST_HOLD"

func TestMain(m *testing.M) {
	dir := os.Getenv(holdEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	if _, err := Open(Options{Dir: dir}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it, or ends
	os.Exit(0)
}

// TestSecondProcess opens a directory that another process has open, and again once that process is gone.
func TestSecondProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holdEnv+"="+dir)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "open\n", line)

	start := time.Now()
	_, err = Open(Options{Dir: dir})
	require.ErrorContains(t, err, dir+" is in use by another process")
	require.Equal(t, graph.KindUnavailable, graph.AsError(err).Kind)
	require.Less(t, time.Since(start), 5*time.Second)

	// The process dies without closing anything.
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	_ = in.Close()
	s, err := Open(Options{Dir: dir})
	require.NoError(t, err)
	require.Equal(t, []string{"default"}, s.Graphs())
	require.NoError(t, s.Close())
}

func TestGraphs(t *testing.T) {
	fs := vfs.NewMem()
	opts := Options{Dir: "data", FS: fs, Logger: quiet()}
	ctx := context.Background()
	s, err := Open(opts)
	require.NoError(t, err)
	kind := func(want graph.Kind, err error) {
		t.Helper()
		require.Error(t, err)
		require.Equal(t, want, graph.AsError(err).Kind, "%v", err)
	}
	require.NoError(t, s.CreateGraph(ctx, "other"))
	kind(graph.KindExists, s.CreateGraph(ctx, "other"))
	for _, name := range []string{"", "../x", ".x", "a b", "x/y"} {
		kind(graph.KindInvalid, s.CreateGraph(ctx, name))
	}
	kind(graph.KindInvalid, s.DropGraph(ctx, "default"))
	kind(graph.KindNotFound, s.DropGraph(ctx, "none"))
	_, err = s.Graph("none")
	kind(graph.KindNotFound, err)
	require.Equal(t, []string{"default", "other"}, s.Graphs())

	require.NoError(t, s.DropGraph(ctx, "other"))
	require.Equal(t, []string{"default"}, s.Graphs())
	require.NoError(t, s.Close())

	// What is left of a graph that was not made to the end goes.
	require.NoError(t, fs.MkdirAll("data/graphs/half/shard-0000", 0o755))
	s, err = Open(opts)
	require.NoError(t, err)
	require.Equal(t, []string{"default"}, s.Graphs())
	_, err = fs.Stat("data/graphs/half")
	require.Error(t, err)
	require.NoError(t, s.Close())

	opts.ReadOnly = true
	s, err = Open(opts)
	require.NoError(t, err)
	kind(graph.KindDenied, s.CreateGraph(ctx, "more"))
	g, err := s.Graph("default")
	require.NoError(t, err)
	_, err = g.Begin(ctx, shard.Write)
	kind(graph.KindDenied, err)
	tx, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)
	tx.Rollback()
	require.NoError(t, s.Close())
}

func TestOptions(t *testing.T) {
	o := Options{Shards: -1, ValueThreshold: 3, CacheBytes: -1, MemtableBytes: 1, TxBytes: 1}
	o.EnsureDefaults()
	err := o.Validate()
	for _, want := range []string{"data directory", "-1 shards", "3 bytes", "cache", "memtables", "transactions"} {
		require.ErrorContains(t, err, want)
	}
}

// TestWriterWaitsWithinContext takes the writer's lock twice.
func TestWriterWaitsWithinContext(t *testing.T) {
	s, err := Open(Options{Dir: "data", FS: vfs.NewMem()})
	require.NoError(t, err)
	g, err := s.Graph("default")
	require.NoError(t, err)
	tx, err := g.Begin(context.Background(), shard.WriteExclusive)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err = g.Begin(ctx, shard.WriteExclusive)
	require.Equal(t, graph.KindDeadline, graph.AsError(err).Kind)
	// Readers do not wait.
	r, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	r.Rollback()
	// Nor does who writes, until the commit.
	w, err := g.Begin(context.Background(), shard.Write)
	require.NoError(t, err)
	label, err := w.Label("L")
	require.NoError(t, err)
	set, err := w.LabelSet([]graph.LabelID{label})
	require.NoError(t, err)
	require.NoError(t, w.Apply(context.Background(), []shard.Mutation{{Op: shard.CreateVertex, Labels: set}}))
	require.Equal(t, graph.KindDeadline, graph.AsError(w.Commit(ctx)).Kind)
	tx.Rollback()
	require.NoError(t, s.Close())
}

// TestGroupCommit makes many small commits at once on a disk whose syncs take a while: they share syncs.
func TestGroupCommit(t *testing.T) {
	var syncs atomic.Int64
	opts := Options{Dir: "data", Logger: quiet()}
	opts.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if path.Ext(op.Path) == ".log" && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			syncs.Add(1)
			<-time.After(2 * time.Millisecond)
		}
		return nil
	}))
	opts.Tuning.CompactRecords = -1
	s, err := Open(opts)
	require.NoError(t, err)
	g, err := s.Graph("default")
	require.NoError(t, err)
	before := syncs.Load()
	const n = 100
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			ctx := context.Background()
			tx, err := g.Begin(ctx, shard.Write)
			if err == nil {
				err = tx.Apply(ctx, []shard.Mutation{{Op: shard.CreateVertex}})
			}
			if err == nil {
				err = tx.Commit(ctx)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Less(t, syncs.Load()-before, int64(n/2))
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	require.EqualValues(t, n, tx.Counts().Vertices)
	tx.Rollback()
	require.NoError(t, s.Close())
}

// TestTransactionBudget bounds what one transaction may write.
func TestTransactionBudget(t *testing.T) {
	s, err := Open(Options{Dir: "data", FS: vfs.NewMem(), TxBytes: 1 << 16})
	require.NoError(t, err)
	g, err := s.Graph("default")
	require.NoError(t, err)
	ctx := context.Background()
	tx, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	for err == nil {
		err = tx.Apply(ctx, make([]shard.Mutation, 100))
	}
	require.Equal(t, graph.KindBudget, graph.AsError(err).Kind)
	tx.Rollback()
	require.NoError(t, s.Close())
}

// TestFormat refuses a store whose manifest, or one of whose shards, is of another version, and leaves it as it is.
func TestFormat(t *testing.T) {
	refusal := fmt.Sprintf("has format version 1, but this program reads version %d; export the data with the program that wrote it", storage.FormatVersion)
	rng := rand.New(rand.NewPCG(1, 1))
	opts := tiny(rng, 2)
	opts.FS, opts.Dir, opts.Logger = vfs.NewMem(), "data", quiet()
	l, err := openLedger(opts)
	require.NoError(t, err)
	require.NoError(t, l.write(rng))
	want := propCounts(t, l.g)
	dir := l.store.Dir("default")
	require.NoError(t, l.store.Close())

	now, err := datadir.ReadManifest(opts.FS, dir)
	require.NoError(t, err)
	old := now
	old.Format = 1
	require.NoError(t, datadir.WriteManifest(opts.FS, dir, old))
	_, err = Open(opts)
	require.ErrorContains(t, err, dir+" "+refusal)

	require.NoError(t, datadir.WriteManifest(opts.FS, dir, now))
	l, err = openLedger(opts)
	require.NoError(t, err)
	require.Equal(t, want, propCounts(t, l.g))
	l.harm(t, storage.Fix{Shard: 1, Key: keys.MetaKey(keys.MetaFormat), Value: []byte{1, 1, 2}})
	require.NoError(t, l.store.Close())
	_, err = Open(opts)
	require.ErrorContains(t, err, refusal)
}

// A graph that is being dropped waits for its users and admits no new ones; if the time is over before they have ended,
// it stays, for readers and writers.
func TestDropGraphLate(t *testing.T) {
	ctx := context.Background()
	s, err := Open(Options{Dir: "data", FS: vfs.NewMem()})
	require.NoError(t, err)
	require.NoError(t, s.CreateGraph(ctx, "other"))
	g, err := s.Graph("other")
	require.NoError(t, err)
	reader, err := g.Begin(ctx, shard.Read)
	require.NoError(t, err)

	late, cancel := context.WithCancel(ctx)
	dropped := make(chan error)
	go func() { dropped <- s.DropGraph(late, "other") }()
	require.Eventually(t, func() bool { return s.ByName["other"].Emptying() }, time.Minute, time.Millisecond)
	_, err = g.Begin(ctx, shard.Read)
	require.Equal(t, graph.KindUnavailable, graph.AsError(err).Kind)
	require.Equal(t, graph.KindUnavailable, graph.AsError(s.DropGraph(ctx, "other")).Kind, "one is enough")
	cancel()
	require.Equal(t, graph.KindDeadline, graph.AsError(<-dropped).Kind)

	writer, err := g.Begin(ctx, shard.Write)
	require.NoError(t, err)
	require.NoError(t, writer.Apply(ctx, []shard.Mutation{{Op: shard.CreateVertex}}))
	require.NoError(t, writer.Commit(ctx))
	reader.Rollback()
	require.NoError(t, s.DropGraph(ctx, "other"))
	_, err = s.Graph("other")
	require.Equal(t, graph.KindNotFound, graph.AsError(err).Kind)
	require.NoError(t, s.Close())
}
