package quota

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
)

// Ledger keeps the accounts of a process. It is safe for concurrent use.
type Ledger struct {
	source Source // nil: no other process takes part
	clock  func() time.Time
	id     uint64       // by which the Source knows the process
	skew   atomic.Int64 // by how much the clock of the Source is ahead, in nanoseconds
	seed   maphash.Seed

	books  sync.Map // *book by the address of the first of its quotas: definition.Kind.All returns the same until one changes
	change sync.Mutex
	graphs map[string]*book                     // the present ones
	counts map[string]map[string]*atomic.Uint64 // refusals by graph and quota

	renewal // of batches
}

// NewLedger returns a ledger that shares its accounts by a source, or decides by itself if that is nil. clock returns the time; nil is that of
// the machine.
func NewLedger(source Source, clock func() time.Time) *Ledger {
	if clock == nil {
		clock = time.Now
	}
	l := &Ledger{source: source, clock: clock, id: newID(), seed: maphash.MakeSeed(), graphs: map[string]*book{}, counts: map[string]map[string]*atomic.Uint64{}}
	l.wake, l.turn = make(chan struct{}, 1), make(chan struct{}, 1)
	return l
}

// now returns the instant, in nanoseconds since 1970, by the clock of the Source.
func (l *Ledger) now() int64 { return l.clock().UnixNano() + l.skew.Load() }

// book is the quotas of a graph, while none changes.
type book struct {
	graph  string
	first  **Quota
	meters []*meter // in order of names

	mu    sync.RWMutex
	found map[asker]*Accounts // the empty ones are nil
}

// asker identifies the callers of a graph that have the same accounts.
type asker struct {
	id        *access.Identity
	operation string // "" unless a quota counts its calls
}

// mostFound bounds how many callers a book remembers. One whose token is a JSON Web Token is another one with each request of some
// transports.
const mostFound = 1024

// sweepFrom is the number of accounts of a quota from which on those of former windows are dropped.
const sweepFrom = 1024

// Accounts are those that a request is charged to. Nil is none.
type Accounts struct {
	ledger *Ledger
	all    []*account
}

// Of returns the accounts of a request to a graph with some definitions. id is its caller, nil without authentication, and operation the trusted
// operation that it calls, or "".
func (l *Ledger) Of(graphName string, s *definition.Set, id *access.Identity, operation string) *Accounts {
	all := All(s)
	if len(all) == 0 {
		return nil
	}
	b := l.book(graphName, all)
	if operation != "" && !b.counts(operation) {
		operation = ""
	}
	key := asker{id, operation}
	b.mu.RLock()
	found, ok := b.found[key]
	b.mu.RUnlock()
	if ok {
		return found
	}
	return l.find(b, key)
}

// counts reports whether a quota counts the calls of an operation.
func (b *book) counts(operation string) bool {
	for _, m := range b.meters {
		if w := &m.q.whom; w.kind == "operation" && w.name == operation {
			return true
		}
	}
	return false
}

// find does the work of Of for a caller who is not remembered.
func (l *Ledger) find(b *book, key asker) *Accounts {
	var out *Accounts
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.meters {
		if !m.q.counts(key.id, b.graph, key.operation) {
			continue
		}
		if out == nil {
			out = &Accounts{ledger: l}
		}
		a, swept := m.account(l, key.id)
		if swept {
			clear(b.found)
		}
		out.all = append(out.all, a)
	}
	if len(b.found) >= mostFound {
		clear(b.found)
	}
	b.found[key] = out
	return out
}

// book returns the book of a graph whose quotas are all.
func (l *Ledger) book(graphName string, all []*Quota) *book {
	if b, ok := l.books.Load(&all[0]); ok {
		return b.(*book)
	}
	l.change.Lock()
	defer l.change.Unlock()
	if b, ok := l.books.Load(&all[0]); ok {
		return b.(*book)
	}
	b := &book{graph: graphName, first: &all[0], found: map[asker]*Accounts{}}
	old := l.graphs[graphName]
	for _, q := range all {
		m := &meter{q: q, graph: graphName, refused: l.refusals(graphName, q.Name)}
		if was := old.meter(q.Name); was != nil && was.q.shape == q.shape {
			m.inherit(was)
		} else {
			m.shared = newAccount(m, access.Subject{})
			m.each, m.sweepAt = map[uint64]*account{}, sweepFrom
		}
		b.meters = append(b.meters, m)
	}
	if old != nil {
		l.books.Delete(old.first)
	}
	l.graphs[graphName] = b
	l.books.Store(b.first, b)
	return b
}

// refusals returns the counter of a quota. The caller holds l.change.
func (l *Ledger) refusals(graphName, name string) *atomic.Uint64 {
	in := l.counts[graphName]
	if in == nil {
		in = map[string]*atomic.Uint64{}
		l.counts[graphName] = in
	}
	if in[name] == nil {
		in[name] = new(atomic.Uint64)
	}
	return in[name]
}

// meter returns that of a name, or nil.
func (b *book) meter(name string) *meter {
	if b == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(b.meters, name, func(m *meter, name string) int { return strings.Compare(m.q.Name, name) })
	if !ok {
		return nil
	}
	return b.meters[i]
}

// inherit takes over the accounts of a former meter.
func (m *meter) inherit(old *meter) {
	old.mu.Lock()
	defer old.mu.Unlock()
	m.shared, m.each, m.count, m.sweepAt = old.shared, old.each, old.count, old.sweepAt
	m.shared.m.Store(m)
	for _, a := range m.each {
		for ; a != nil; a = a.next {
			a.m.Store(m)
		}
	}
	old.each = map[uint64]*account{} // for requests that still have the former book
}

func newAccount(m *meter, of access.Subject) *account {
	a := &account{subject: of}
	a.m.Store(m)
	return a
}

// account returns that of a caller, and whether those of former windows were dropped.
func (m *meter) account(l *Ledger, id *access.Identity) (a *account, swept bool) {
	if !m.q.Each || id == nil {
		return m.shared, false
	}
	of := id.Subject()
	key := maphash.Comparable(l.seed, of)
	m.mu.Lock()
	defer m.mu.Unlock()
	for a := m.each[key]; a != nil; a = a.next {
		if a.subject == of {
			return a, false
		}
	}
	if m.count >= m.sweepAt {
		m.sweep(l.now())
		swept = true
	}
	a = newAccount(m, of)
	a.next, m.each[key] = m.each[key], a
	m.count++
	return a, swept
}

// sweep drops accounts of former windows. The caller holds m.mu.
func (m *meter) sweep(now int64) {
	kept := make(map[uint64]*account, len(m.each))
	m.count = 0
	for key, a := range m.each {
		for a != nil {
			next := a.next
			if !a.past(m.q, now) {
				a.next, kept[key] = kept[key], a
				m.count++
			}
			a = next
		}
	}
	m.each, m.sweepAt = kept, 2*m.count+sweepFrom
}

// accounts returns those of a quota.
func (m *meter) accounts() (all []*account) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all = append(all, m.shared)
	for _, a := range m.each {
		for ; a != nil; a = a.next {
			all = append(all, a)
		}
	}
	return all
}

// Enter asks whether a request may run, before it does. If not, it returns the error: graph.KindBusy with the time until the amount comes back,
// or graph.KindUnavailable if it is not known what other processes have taken.
func (c *Accounts) Enter() error {
	if c == nil {
		return nil
	}
	now := c.ledger.now()
	for i, a := range c.all {
		v := a.enter(c.ledger, now)
		if v == allowed {
			continue
		}
		for _, b := range c.all[:i] {
			b.undo()
		}
		return refusal(a, v, now)
	}
	return nil
}

// refusal is the error of a request that an account does not allow.
func refusal(a *account, v verdict, now int64) error {
	q := a.m.Load().q
	if v == unknown {
		return graph.Unavailable("RequestError", "QuotaUnknown",
			"what is left of the quota "+q.Name+" is not known while the leader of the cluster does not answer; try again later", nil)
	}
	unit := map[Measure]string{Cost: "units of cost", CPU: "seconds of CPU", Requests: "requests"}[q.Measure]
	err := graph.Busy(q.left(now), "the quota %s is used up, %v %s a %s; try again later", q.Name, q.Amount, unit, q.Window)
	err.Detail = "QuotaExceeded"
	return err
}

// Charge counts what a request has taken, at its end, in the windows of that time.
func (c *Accounts) Charge(took cost.Cost) {
	if c == nil {
		return
	}
	now := c.ledger.now()
	for _, a := range c.all {
		a.charge(c.ledger, now, a.m.Load().q.of(&took))
	}
}

// State is a quota and its accounts.
type State struct {
	*Quota
	Refused uint64 // requests that this process has refused, or would have if the quota were enforced, since its start
	Uses    []Use  // the greatest first
}

// Use is what an account has taken in the present window, and has left.
type Use struct {
	Account     access.Subject // zero: of all callers together
	Used, Left  float64        // in units of Quota.Amount
	Reset       time.Duration  // until the amount comes back
	nanosOrUnit int64          // used
}

// mostUses bounds how many accounts of a quota are listed.
const mostUses = 1000

// List returns the quotas of a graph with their accounts. With a Source, it asks that; an error says that it does not answer.
func (l *Ledger) List(ctx context.Context, graphName string, s *definition.Set) ([]State, error) {
	all := All(s)
	if len(all) == 0 {
		return nil, nil
	}
	b := l.book(graphName, all)
	var uses []SharedUse
	if l.source != nil {
		var err error
		if uses, err = l.ask(ctx, graphName); err != nil {
			return nil, err
		}
	}
	now := l.now()
	out := make([]State, len(b.meters))
	for i, m := range b.meters {
		st := State{Quota: m.q, Refused: m.refused.Load()}
		if l.source == nil {
			for _, a := range m.accounts() {
				if used, _, _ := a.state(now); used > 0 {
					st.Uses = append(st.Uses, m.q.use(a.subject, used, now))
				}
			}
		}
		for _, u := range uses {
			if u.Quota == m.q.Name && u.Shape == m.q.shape {
				st.Uses = append(st.Uses, m.q.use(u.Subject, u.Used, now))
			}
		}
		if len(st.Uses) == 0 && !m.q.Each {
			st.Uses = []Use{m.q.use(access.Subject{}, 0, now)}
		}
		slices.SortFunc(st.Uses, func(a, b Use) int {
			return cmp.Or(cmp.Compare(b.nanosOrUnit, a.nanosOrUnit), strings.Compare(a.Account.Name, b.Account.Name))
		})
		st.Uses = st.Uses[:min(len(st.Uses), mostUses)]
		out[i] = st
	}
	return out, nil
}

func (q *Quota) use(of access.Subject, used, now int64) Use {
	return Use{Account: of, Used: q.Told(used), Left: q.Told(max(q.limit-used, 0)), Reset: q.left(now), nanosOrUnit: used}
}

// Metric is what metrics tell of a quota.
type Metric struct {
	Graph   string
	Quota   *Quota
	Used    float64 // what this process has charged in the present window, to all accounts together, in units of Quota.Amount
	Refused uint64
}

// Metrics returns those of the quotas that this process knows from its requests. present returns the definitions of a graph as they are now,
// nil if there is no such graph.
func (l *Ledger) Metrics(present func(graphName string) *definition.Set) (all []Metric) {
	l.change.Lock()
	defer l.change.Unlock()
	now := l.now()
	for name, b := range l.graphs {
		if s := present(name); len(All(s)) == 0 {
			l.books.Delete(b.first)
			delete(l.graphs, name)
			delete(l.counts, name)
			continue
		}
		for _, m := range b.meters {
			var used int64
			for _, a := range m.accounts() {
				a.mu.Lock()
				a.roll(m.q, now)
				used += a.taken
				a.mu.Unlock()
			}
			all = append(all, Metric{Graph: b.graph, Quota: m.q, Used: m.q.Told(used), Refused: m.refused.Load()})
		}
	}
	return all
}
