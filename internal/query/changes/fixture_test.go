package changes_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// start is the time of the first commit.
var start = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC).UnixNano()

// logged is a graph with a commit log that tests write.
type logged struct {
	shard.Graph
	*names
	log *memoryLog
	off bool
	// behind makes the catalog lack its properties until the next transaction.
	behind bool
}

func (g *logged) PropName(id graph.PropID) string {
	if g.behind {
		return ""
	}
	return g.Graph.PropName(id)
}

// names numbers names as they are asked for.
type names struct {
	t  testing.TB
	tx shard.Tx
	g  shard.Graph
}

func (n *names) prop(name string) graph.PropID {
	id, err := n.tx.Prop(name)
	require.NoError(n.t, err)
	return id
}

func (n *names) typ(name string) graph.TypeID {
	id, err := n.tx.Type(name)
	require.NoError(n.t, err)
	return id
}

func (n *names) labels(names ...string) graph.LabelSet {
	var ids []graph.LabelID
	for _, name := range names {
		id, err := n.tx.Label(name)
		require.NoError(n.t, err)
		ids = append(ids, id)
	}
	set, err := n.tx.LabelSet(ids)
	require.NoError(n.t, err)
	return set
}

// props returns properties of names and values in turn.
func (n *names) props(pairs ...any) (out []graph.Property) {
	for i := 0; i < len(pairs); i += 2 {
		p := graph.Property{ID: n.prop(pairs[i].(string))}
		switch v := pairs[i+1].(type) {
		case int:
			p.Value = graph.IntValue(int64(v))
		case string:
			p.Value = graph.StringValue(v)
		case graph.Value:
			p.Value = v
		}
		out = append(out, p)
	}
	return out
}

// newGraph returns an empty graph with a log.
func newGraph(t testing.TB) *logged {
	store, err := local.Open(local.Options{Dir: t.TempDir(), Shards: 2, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	g, err := store.Graph("default")
	require.NoError(t, err)
	tx, err := g.Begin(t.Context(), shard.Write)
	require.NoError(t, err)
	t.Cleanup(tx.Rollback)
	log := &memoryLog{t: t, more: make(chan struct{}), state: shard.LogState{Key: [32]byte{7}, Mode: changelog.Diff}}
	return &logged{Graph: g, names: &names{t: t, tx: tx, g: g}, log: log}
}

func (g *logged) ChangeLog() shard.ChangeLog {
	if g.off {
		return nil
	}
	return g.log
}

func (g *logged) Begin(ctx context.Context, mode shard.Mode) (shard.Tx, error) {
	tx, err := g.Graph.Begin(ctx, mode)
	if err != nil {
		return nil, err
	}
	g.behind = false
	st, err := g.log.LogState(ctx)
	return committed{tx, st}, err
}

// committed is a transaction whose snapshot has all commits of the log.
type committed struct {
	shard.Tx
	state shard.LogState
}

func (tx committed) Features() shard.Features {
	f := tx.Tx.Features()
	f.Commits = tx
	return f
}

func (tx committed) Position() (number uint64, time int64) { return tx.state.Last, tx.state.LastTime }
func (committed) CommittedAt() (number uint64, time int64) { return 0, 0 }
func (committed) From(changelog.Origin)                    {}

// memoryLog is a commit log in memory.
type memoryLog struct {
	t       testing.TB
	mu      sync.Mutex
	state   shard.LogState
	commits [][]byte // those after state.First
	reads   int
	largest int
	more    chan struct{}
}

// commit adds a commit, whose changes name their transactions.
func (l *memoryLog) commit(origins []changelog.Origin, changes ...changelog.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := start + int64(l.state.Last)*int64(time.Second)
	l.state.Last++
	l.state.LastTime = at
	c := changelog.Commit{Number: l.state.Last}
	var e changelog.Encoder
	for i := range changes {
		e.Begin(changes[i].Tx)
		require.NoError(l.t, e.Add(&changes[i]))
	}
	require.NoError(l.t, e.Records(at, origins, func(_ int, b []byte) error {
		c.Records = append(c.Records, b)
		return nil
	}))
	l.commits = append(l.commits, c.AppendTo(nil))
	close(l.more)
	l.more = make(chan struct{})
}

// drop drops the first n commits.
func (l *memoryLog) drop(n int) {
	l.state.First += uint64(n)
	l.state.FirstTime = start + int64(l.state.First-1)*int64(time.Second)
	l.commits = l.commits[n:]
}

func (l *memoryLog) LogState(context.Context) (shard.LogState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, nil
}

func (l *memoryLog) ReadLog(ctx context.Context, after uint64, most int, dst []byte) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if after < l.state.First || after > l.state.Last {
		return dst, &graph.Error{Kind: graph.KindNotFound, Msg: "no such position"}
	}
	l.reads++
	for i, c := range l.commits[after-l.state.First:] {
		if i > 0 && len(dst)+len(c) > most {
			break
		}
		dst = append(dst, c...)
	}
	l.largest = max(l.largest, len(dst))
	return dst, ctx.Err()
}

func (l *memoryLog) AwaitLog(ctx context.Context, after uint64) error {
	for {
		l.mu.Lock()
		last, more := l.state.Last, l.more
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

func (l *memoryLog) SetLogMode(_ context.Context, mode changelog.Mode) error {
	l.state.Mode = mode
	return nil
}
