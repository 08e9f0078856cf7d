package httpapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/server/wire"
	"github.com/hopgate/hopgate/internal/shard/past"
)

// transactions holds the open explicit transactions of Neo4j's Query API by id.
type transactions struct {
	idle time.Duration // idle time after which a transaction rolls back

	mu     sync.Mutex
	byID   map[string]*openTx
	closed bool
}

// openTx is an explicit transaction of one graph and of the caller who began it.
type openTx struct {
	*query.Transaction
	id, graph string
	caller    access.Subject
}

// begin opens a transaction.
func (ts *transactions) begin(ctx context.Context, e *query.Engine, opt query.TxOptions) (*openTx, error) {
	id := rand.Text()
	opt.Idle, opt.Ended = ts.idle, func() { ts.remove(id) }
	ts.mu.Lock()
	if ts.closed {
		ts.mu.Unlock()
		return nil, wire.Draining()
	}
	if ts.byID == nil {
		ts.byID = map[string]*openTx{}
	}
	t := &openTx{id: id, graph: opt.Graph, caller: access.Of(ctx)}
	ts.byID[id] = t // first, so that its end finds it; no client knows the id yet
	ts.mu.Unlock()
	tx, err := e.Begin(ctx, opt)
	if err != nil {
		ts.remove(id)
		return nil, err
	}
	ts.mu.Lock()
	t.Transaction = tx
	closed := ts.closed
	ts.mu.Unlock()
	if closed {
		tx.Rollback()
		return nil, wire.Draining()
	}
	return t, nil
}

func (ts *transactions) remove(id string) {
	ts.mu.Lock()
	delete(ts.byID, id)
	ts.mu.Unlock()
}

// find returns an open transaction of a graph that the caller began.
func (ts *transactions) find(ctx context.Context, graphName, id string) (*openTx, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.byID[id]; t != nil && t.graph == graphName && t.caller == access.Of(ctx) && t.Transaction != nil {
		return t, nil
	}
	return nil, graph.TransactionNotFound(": it may have been rolled back, because it was idle for too long or a statement in it failed")
}

// close rolls back all transactions and accepts no more.
func (ts *transactions) close() {
	ts.mu.Lock()
	ts.closed = true
	var open []*query.Transaction
	for _, t := range ts.byID {
		if t.Transaction != nil {
			open = append(open, t.Transaction)
		}
	}
	ts.mu.Unlock()
	for _, t := range open {
		t.Rollback()
	}
}

// step is what a request does to its transaction.
type step uint8

const (
	beginStep step = iota
	runStep
	commitStep
	autoStep // begins and commits
)

// transact answers POST …/query/v2/tx, …/tx/{id} and …/tx/{id}/commit. Each may carry a statement.
func (h *Handler) transact(w http.ResponseWriter, r *http.Request, s step) {
	f, ok := acceptOrFail(w, r)
	if !ok {
		return
	}
	fail := func(err error) { wire.WriteError(w, f.errors(), wire.HTTPStatus(err), err) }
	req, opt, ctx, err := h.txRequest(w, r, s == beginStep)
	if err != nil {
		fail(err)
		return
	}
	if past.Asked(ctx) != nil && s != beginStep {
		fail(wire.RequestError("at: belongs to the request that begins the transaction"))
		return
	}
	if req.Stale > 0 && s != beginStep {
		fail(wire.RequestError(staleHeader + ": belongs to the request that begins the transaction"))
		return
	}
	var t *openTx
	if s == beginStep {
		if err := h.reached(r, opt.Graph); err != nil {
			fail(err)
			return
		}
		t, err = h.txs.begin(ctx, h.e, opt)
	} else {
		t, err = h.txs.find(r.Context(), opt.Graph, r.PathValue("id"))
	}
	if err != nil {
		fail(err)
		return
	}
	req.Buffer = s == commitStep // answer only after the commit
	var res *query.Result
	if req.Statement != "" {
		if res, err = t.Run(r.Context(), req); err != nil {
			fail(err)
			return
		}
		defer res.Close()
	} else if s == runStep {
		if err := t.Touch(); err != nil {
			fail(err)
			return
		}
	}
	tail := func(dst []byte) []byte { return t.appendState(dst) }
	if s == commitStep {
		if err := t.Commit(r.Context()); err != nil {
			fail(err)
			return
		}
		tellSnapshot(w, t.Snapshot())
		tail = func(dst []byte) []byte {
			return appendBookmark(dst, query.Bookmark(h.e, t.Graph(), t.Changed(), t.Snapshot()))
		}
	}
	if res == nil {
		wire.WriteJSON(w, f.errors(), http.StatusAccepted, append(tail([]byte{'{'}), '}', '\n'))
	} else {
		writeResult(w, res, f, http.StatusAccepted, tail)
	}
}

// rollback answers DELETE …/query/v2/tx/{id}.
func (h *Handler) rollback(w http.ResponseWriter, r *http.Request) {
	f, ok := acceptOrFail(w, r)
	if !ok {
		return
	}
	t, err := h.txs.find(r.Context(), graphOf(r), r.PathValue("id"))
	if err != nil {
		wire.WriteError(w, f.errors(), wire.HTTPStatus(err), err)
		return
	}
	t.Rollback()
	wire.WriteJSON(w, f.errors(), http.StatusOK, []byte("{}\n"))
}

// txRequest reads a request of an explicit transaction; the body and its statement are optional. The timeout of the first request applies
// to the transaction, that of a later one to its statement. The bookmarks of the one that begins it are checked.
func (h *Handler) txRequest(w http.ResponseWriter, r *http.Request, begins bool) (req query.Request, opt query.TxOptions, ctx context.Context, err error) {
	body, err := h.body(w, r)
	if err != nil {
		return req, opt, nil, err
	}
	var q queryRequest
	if len(bytes.TrimSpace(body)) > 0 {
		if err := wire.DecodeJSON(body, false, &q); err != nil {
			return req, opt, nil, err
		}
	}
	if req, err = q.request(r, h.e.Charge(r.Context())); err != nil {
		return req, opt, nil, err
	}
	if ctx, err = asOf(r, q.At); err != nil {
		return req, opt, nil, err
	}
	if begins {
		if err := h.bookmarks(r, &q); err != nil {
			return req, opt, nil, err
		}
	}
	req.Unsafe = h.checkWrite(r)
	if strings.TrimSpace(q.Statement) == "" {
		req.Statement = ""
	} else if err := wire.CheckStatement(q.Statement); err != nil {
		return req, opt, nil, err
	}
	opt = query.TxOptions{Graph: graphOf(r), ReadOnly: req.ReadOnly, Stale: req.Stale, Timeout: req.Timeout}
	return req, opt, ctx, nil
}

// appendState appends the id of the transaction and the time at which it expires if idle.
func (t *openTx) appendState(dst []byte) []byte {
	dst = append(dst, `"transaction":{"id":`...)
	dst = notation.AppendJSONString(dst, t.id)
	dst = append(dst, `,"expires":"`...)
	dst = t.Expires().UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	return append(dst, `"}`...)
}
