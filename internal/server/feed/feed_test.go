package feed

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/version"
)

// logged is a store whose graph has a commit log that tests write.
type logged struct {
	shard.Store
	log *memoryLog
	a   graph.LabelSet // of the label A
	x   graph.PropID
	typ graph.TypeID
}

func newLogged(t testing.TB) *logged {
	store := oracle.New(1)
	require.NoError(t, store.CreateGraph(t.Context(), query.DefaultGraph))
	g, err := store.Graph(query.DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(t.Context(), shard.Write)
	require.NoError(t, err)
	s := &logged{Store: store, log: &memoryLog{t: t, more: make(chan struct{})}}
	label, err := tx.Label("A")
	require.NoError(t, err)
	s.a, err = tx.LabelSet([]graph.LabelID{label})
	require.NoError(t, err)
	s.x, err = tx.Prop("x")
	require.NoError(t, err)
	s.typ, err = tx.Type("R")
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	return s
}

// props is the property x.
func (s *logged) props(v graph.Value) []graph.Property { return []graph.Property{{ID: s.x, Value: v}} }

// create commits a vertex.
func (s *logged) create(id uint64) {
	s.log.commit(changelog.Change{
		Op: changelog.Created, Vertex: graph.MakeVertexID(0, id), After: changelog.State{Labels: s.a, Props: s.props(graph.IntValue(int64(id)))},
	})
}

func (s *logged) Graph(name string) (shard.Graph, error) {
	g, err := s.Store.Graph(name)
	if err != nil {
		return nil, err
	}
	return loggedGraph{g, s.log}, nil
}

type loggedGraph struct {
	shard.Graph
	log *memoryLog
}

func (g loggedGraph) ChangeLog() shard.ChangeLog { return g.log }

// memoryLog is a commit log in memory.
type memoryLog struct {
	t       testing.TB
	mu      sync.Mutex
	commits [][]byte
	more    chan struct{}
}

var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC).UnixNano()

func (l *memoryLog) commit(changes ...changelog.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := changelog.Commit{Number: uint64(len(l.commits) + 1)}
	var e changelog.Encoder
	for i := range changes {
		require.NoError(l.t, e.Add(&changes[i]))
	}
	at := start + int64(len(l.commits))*int64(time.Second)
	require.NoError(l.t, e.Records(at, []changelog.Origin{{User: "ann", Protocol: "http"}}, func(_ int, b []byte) error {
		c.Records = append(c.Records, b)
		return nil
	}))
	l.commits = append(l.commits, c.AppendTo(nil))
	close(l.more)
	l.more = make(chan struct{})
}

func (l *memoryLog) LogState(context.Context) (shard.LogState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := shard.LogState{Key: [32]byte{7}, Mode: changelog.Full, Last: uint64(len(l.commits))}
	if st.Last > 0 {
		st.LastTime = start + int64(st.Last-1)*int64(time.Second)
	}
	return st, nil
}

func (l *memoryLog) ReadLog(ctx context.Context, after uint64, most int, dst []byte) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, c := range l.commits[after:] {
		if i > 0 && len(dst)+len(c) > most {
			break
		}
		dst = append(dst, c...)
	}
	return dst, ctx.Err()
}

func (l *memoryLog) AwaitLog(ctx context.Context, after uint64) error {
	for {
		l.mu.Lock()
		last, more := uint64(len(l.commits)), l.more
		l.mu.Unlock()
		if last > after {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (*memoryLog) SetLogMode(context.Context, changelog.Mode) error { return nil }

// inBubble runs f with feeds whose clock is the bubble's; drain has the server drain.
func inBubble(t *testing.T, f func(t *testing.T, s *logged, all *Feeds, drain func())) {
	synctest.Test(t, func(t *testing.T) {
		s := newLogged(t)
		drained, drain := context.WithCancel(context.Background())
		defer drain()
		f(t, s, New(drained, query.New(s, query.Options{}), prometheus.NewRegistry()), drain)
	})
}

// A feed gives what comes, says each heartbeat where it stands, and ends after its wait, counted from the last event.
func TestWaitAndHeartbeat(t *testing.T) {
	inBubble(t, func(t *testing.T, s *logged, all *Feeds, _ func()) {
		began := time.Now()
		since := func() time.Duration { return time.Since(began).Round(time.Second) }
		f, err := all.Open(t.Context(), "http", Request{Wait: 25 * time.Second, Heartbeat: 10 * time.Second})
		require.NoError(t, err)
		defer f.Close()
		go func() {
			time.Sleep(15 * time.Second)
			s.create(1)
		}()
		first := f.Token()
		events, err := f.Next()
		require.NoError(t, err)
		require.Empty(t, events)
		require.Equal(t, 10*time.Second, since())
		events, err = f.Next()
		require.NoError(t, err)
		require.Len(t, events, 1)
		require.Equal(t, 15*time.Second, since())
		require.Equal(t, events[0].ID(), f.Token())
		for range 2 {
			events, err = f.Next()
			require.NoError(t, err)
			require.Empty(t, events)
		}
		require.Equal(t, 35*time.Second, since())
		_, err = f.Next()
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, 40*time.Second, since())

		again, err := all.Open(t.Context(), "http", Request{From: first, Wait: 0})
		require.NoError(t, err)
		defer again.Close()
		events, err = again.Next()
		require.NoError(t, err)
		require.Len(t, events, 1)
		s.create(2) // after it was opened
		_, err = again.Next()
		require.ErrorIs(t, err, io.EOF)
	})
}

// A feed that waits ends in good order when the server drains, and with its client.
func TestEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *logged, all *Feeds, drain func()) {
		open := func(ctx context.Context) chan error {
			f, err := all.Open(ctx, "grpc", Request{Wait: -1})
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() {
				defer f.Close()
				_, err := f.Next()
				ended <- err
			}()
			return ended
		}
		ctx, leave := context.WithCancel(t.Context())
		one, two := open(ctx), open(t.Context())
		synctest.Wait()
		leave()
		require.Equal(t, graph.KindDeadline, graph.AsError(<-one).Kind)
		drain()
		require.ErrorIs(t, <-two, io.EOF)
	})
}

// Open feeds, what they have sent and how far they are behind are counted; there are not more of them than may be.
func TestCounts(t *testing.T) {
	inBubble(t, func(t *testing.T, s *logged, all *Feeds, _ func()) {
		for id := range uint64(batch + 1) {
			s.create(id)
		}
		f, err := all.Open(t.Context(), "http", Request{From: changes.Earliest, Wait: -1})
		require.NoError(t, err)
		require.EqualValues(t, batch+1, all.furthest())
		require.EqualValues(t, 1, testutil.ToFloat64(all.open.WithLabelValues("http")))
		events, err := f.Next()
		require.NoError(t, err)
		require.Len(t, events, batch)
		require.EqualValues(t, batch, testutil.ToFloat64(all.events.WithLabelValues("http")))
		require.EqualValues(t, 1, all.furthest())
		var others []*Feed
		for len(others) < mostFeeds-1 {
			o, err := all.Open(t.Context(), "grpc", Request{})
			require.NoError(t, err)
			others = append(others, o)
		}
		_, err = all.Open(t.Context(), "http", Request{})
		require.Equal(t, graph.KindBusy, graph.AsError(err).Kind)
		for _, o := range append(others, f) {
			o.Close()
		}
		require.Zero(t, testutil.ToFloat64(all.open.WithLabelValues("http")))
		require.Zero(t, testutil.ToFloat64(all.open.WithLabelValues("grpc")))
		for range 2 * mostFeeds { // what is refused takes no place
			_, err = all.Open(t.Context(), "http", Request{From: "forged"})
			require.Equal(t, changes.Malformed, graph.AsError(err).Detail)
		}
	})
}

// Parameters that are wrong are named.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		parse func() error
		says  string
	}{
		{func() error { _, err := ParseWait("-1s"); return err }, "wait: must be a duration from 0"},
		{func() error { _, err := ParseWait("1"); return err }, "wait: must be"},
		{func() error { _, err := ParseHeartbeat("1ms"); return err }, "heartbeat: must be from 100ms to 10m0s, was 1ms"},
		{func() error { _, err := ParseHeartbeat("x"); return err }, "heartbeat: must be"},
		{func() error { _, err := ParseFormat("avro"); return err }, `format: must be json or debezium, was "avro"`},
	} {
		require.ErrorContains(t, c.parse(), c.says)
	}
}

// The format debezium has the envelope of Debezium's events.
func TestDebezium(t *testing.T) {
	inBubble(t, func(t *testing.T, s *logged, all *Feeds, _ func()) {
		v, w := graph.MakeVertexID(0, 1), graph.MakeVertexID(0, 2)
		edge := graph.Edge{ID: 5, Src: v, Dst: w, Type: s.typ}
		state := func(x int64) changelog.State { return changelog.State{Labels: s.a, Props: s.props(graph.IntValue(x))} }
		s.log.commit(
			changelog.Change{Op: changelog.Created, Vertex: v, After: state(1)},
			changelog.Change{Op: changelog.Created, IsEdge: true, Edge: edge, After: changelog.State{Props: s.props(graph.StringValue("ü"))}},
		)
		s.log.commit(changelog.Change{Op: changelog.Changed, Full: true, Vertex: v, Before: state(1), After: state(2)})
		s.log.commit(changelog.Change{Op: changelog.Deleted, Vertex: v, Before: state(2)})
		s.log.commit(changelog.Change{Op: changelog.Skipped, Counts: [6]uint64{3, 0, 0, 4}})
		f, err := all.Open(t.Context(), "http", Request{From: changes.Earliest, Format: Debezium})
		require.NoError(t, err)
		defer f.Close()
		events, err := f.Next()
		require.NoError(t, err)
		var got []byte
		for i := range events {
			got = append(f.Append(got, &events[i]), '\n')
			got = bytes.ReplaceAll(got, []byte(events[i].ID()), []byte("TOKEN"))
		}
		got = bytes.ReplaceAll(got, fmt.Appendf(nil, `"version":%q`, version.Number), []byte(`"version":"VERSION"`))
		datadriven.RunTest(t, "testdata/debezium", func(*testing.T, *datadriven.TestData) string { return string(got) })
	})
}
