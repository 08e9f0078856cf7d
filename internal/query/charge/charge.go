// Package charge asks the quotas of a graph whether a request to it may run.
package charge

import (
	"context"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/operation"
	"github.com/hopgate/hopgate/internal/quota"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// refreshEvery is how often refusals have a graph read again whose quotas may have changed through another process.
const refreshEvery = time.Second

// Gate keeps the quotas of the graphs of a store.
type Gate struct {
	*quota.Ledger
	store     shard.Store
	refreshed atomic.Int64 // when, in nanoseconds since 1970
}

// NewGate returns the gate of a store.
func NewGate(store shard.Store) *Gate {
	return &Gate{Ledger: quota.NewLedger(store.Features().Quotas, nil), store: store}
}

// Request is what quotas see of a request.
type Request struct {
	Graph     string        // its name
	Caller    *access.Grant // nil without authentication
	Operation *operation.Operation
	Statement string // "" if it is none
	Probe     bool   // the server itself sent it: it is not charged
}

// Enter asks whether a request to a graph may run, and sets what it is charged to. That was nil before, or is that of the same request, which
// then counts once.
func (t *Gate) Enter(ctx context.Context, g shard.Graph, r *Request, charged **quota.Accounts) error {
	id, err := r.Caller.Identity()
	if err != nil || r.Probe {
		return err
	}
	called := ""
	if r.Operation != nil {
		called = r.Operation.Name
	}
	of := t.Of(r.Graph, g.Definitions(), id, called)
	if of == nil || of == *charged {
		*charged = of
		return nil
	}
	err = of.Enter()
	if err != nil && t.refresh(r.Graph) {
		if now := t.Of(r.Graph, g.Definitions(), id, called); now != of {
			of, err = now, now.Enter()
		}
	}
	of.Tell(ctx)
	switch {
	case err == nil:
		*charged = of
	case (id == nil || id.In(r.Graph) == access.Admin) && quotaCall.MatchString(r.Statement):
		return nil // what an admin needs who has used up a quota
	}
	return err
}

// refresh reads a graph again that the store only remembers, and reports whether it has.
func (t *Gate) refresh(name string) bool {
	last, now := t.refreshed.Load(), time.Now().UnixNano()
	if t.store.Features().Cached == nil || now-last < int64(refreshEvery) || !t.refreshed.CompareAndSwap(last, now) {
		return false
	}
	_, err := t.store.Graph(name)
	return err == nil
}

// quotaCall is the form of statements that do nothing but list and change quotas.
var quotaCall = regexp.MustCompile(`^\s*(?i:CALL)\s+db\.quotas\.(put|drop|list)\s*\([^()]*\)\s*;?\s*$`)

// Metrics returns those of the quotas of the graphs that have had requests.
func (t *Gate) Metrics() []quota.Metric {
	return t.Ledger.Metrics(func(name string) *definition.Set {
		var g shard.Graph
		if k := t.store.Features().Cached; k != nil {
			g = k.Known(name)
		} else if found, err := t.store.Graph(name); err == nil {
			g = found
		}
		if g == nil {
			return nil
		}
		return restricted.Whole(g).Definitions()
	})
}
