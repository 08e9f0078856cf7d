package snapshot

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/query/token"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// At is the last commit of a snapshot; zero where that is unknown, or the graph empty.
type At struct {
	Commit uint64
	Time   int64 // nanoseconds since 1970
}

// Of is the snapshot of a transaction.
func Of(tx shard.Tx) (at At) {
	if c := tx.Features().Commits; c != nil {
		at.Commit, at.Time = c.Position()
	}
	return at
}

// After is the snapshot that a transaction has left by its commit, or that it had if it has changed nothing.
func After(tx shard.Tx) (at At) {
	if c := tx.Features().Commits; c != nil {
		if at.Commit, at.Time = c.CommittedAt(); at.Commit == 0 {
			at.Commit, at.Time = c.Position()
		}
	}
	return at
}

// Tokens writes and checks the tokens of graphs. The zero value is ready; it is safe for concurrent use.
type Tokens struct{ graphs sync.Map } // by name: *signers

// signers are those of a graph, for as long as it is the one of its name.
type signers struct {
	of   shard.Graph
	key  [32]byte
	pool sync.Pool
	// seen is the last commit that an answer had: this process need not ask for it.
	seen atomic.Uint64
	// last is the token that was written last: reads between two commits have the same.
	last atomic.Pointer[written]
}

// written is a token with its text.
type written struct {
	at   At
	text string
}

func (s *signers) see(commit uint64) {
	for old := s.seen.Load(); commit > old && !s.seen.CompareAndSwap(old, commit); old = s.seen.Load() {
	}
}

func (t *Tokens) signers(ctx context.Context, g shard.Graph, name string) (*signers, error) {
	g = restricted.Whole(g)
	if known, ok := t.graphs.Load(name); ok && known.(*signers).of == g {
		return known.(*signers), nil
	}
	log := g.ChangeLog()
	if log == nil {
		return nil, nil
	}
	st, err := log.LogState(ctx)
	if err != nil {
		return nil, err
	}
	s := &signers{of: g, key: st.Key}
	s.pool.New = func() any { return token.NewSigner(s.key) }
	t.graphs.Store(name, s)
	return s, nil
}

// Text returns the token of a snapshot of the graph with a name, that of its last commit for the zero At, "" if the graph numbers no commits.
func (t *Tokens) Text(ctx context.Context, g shard.Graph, name string, at At) (string, error) {
	s, err := t.signers(ctx, g, name)
	if s == nil || err != nil {
		return "", err
	}
	if at == (At{}) {
		st, err := s.of.ChangeLog().LogState(ctx)
		if err != nil {
			return "", err
		}
		at = At{st.Last, st.LastTime}
	}
	if last := s.last.Load(); last != nil && last.at == at {
		return last.text, nil
	}
	s.see(at.Commit)
	signer := s.pool.Get().(*token.Signer)
	defer s.pool.Put(signer)
	w := &written{at, signer.Text(token.Token{Commit: at.Commit, Time: at.Time})}
	s.last.Store(w)
	return w.text, nil
}

// Sign calls f with what signs the tokens of the graph with a name, and f must not retain; ok is false if the graph numbers no commits.
func (t *Tokens) Sign(ctx context.Context, g shard.Graph, name string, f func(*token.Signer) error) (ok bool, err error) {
	s, err := t.signers(ctx, g, name)
	if s == nil || err != nil {
		return false, err
	}
	signer := s.pool.Get().(*token.Signer)
	defer s.pool.Put(signer)
	return true, f(signer)
}

// Reached checks that the present state of a graph has the snapshot of a token. The errors are those of package changes.
func (t *Tokens) Reached(ctx context.Context, g shard.Graph, name, text string) error {
	s, err := t.signers(ctx, g, name)
	if err != nil {
		return err
	}
	if s == nil {
		return changes.TokenError(token.ErrOtherGraph)
	}
	signer := s.pool.Get().(*token.Signer)
	tok, err := signer.Parse(text, time.Now())
	s.pool.Put(signer)
	if err != nil {
		return changes.TokenError(err)
	}
	if tok.Commit <= s.seen.Load() {
		return nil
	}
	log := s.of.ChangeLog()
	st, err := log.LogState(ctx)
	if err != nil {
		return err
	}
	switch {
	case tok.Commit > st.Last, tok.Commit == st.Last && tok.Time != st.LastTime, tok.Commit == st.First && tok.Time != st.FirstTime:
		return changes.HistoryError(tok.Commit)
	case tok.Commit <= st.First, tok.Commit == st.Last, st.Mode == changelog.Off:
		return nil // the log does not tell more
	}
	b, err := log.ReadLog(ctx, tok.Commit-1, 1, nil)
	if err != nil {
		return err
	}
	c, _, err := changelog.ReadCommit(b)
	if err == nil && c.Time != tok.Time {
		return changes.HistoryError(tok.Commit)
	}
	return err
}
