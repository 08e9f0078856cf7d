package query

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxSlowText is the number of bytes of a statement that the slow log keeps. A longer statement has no plan there.
const maxSlowText = 16 << 10

// Slow is one of the slowest statements.
type Slow struct {
	Graph, Statement string
	Fingerprint      string // see Fingerprint; "" in entries of older versions
	Start            time.Time
	Elapsed          time.Duration
	Rows             int64
	Err              error
	Plan             *PlanNode
}

// slowLog keeps the slowest statements.
type slowLog struct {
	mu      sync.Mutex
	size    int
	entries []Slow // the slowest first
}

func (l *slowLog) add(s Slow, kind Kind, p *prepared) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) >= l.size && s.Elapsed <= l.entries[len(l.entries)-1].Elapsed {
		return
	}
	s.Fingerprint, _ = Fingerprint(kind, s.Statement)
	if len(s.Statement) > maxSlowText {
		s.Statement = strings.ToValidUTF8(s.Statement[:maxSlowText], "")
	} else if p != nil && p.exec != nil {
		s.Plan = explain(p.exec, nil, nil)
	}
	at, _ := slices.BinarySearchFunc(l.entries, s, func(a, b Slow) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	l.entries = slices.Insert(l.entries, at, s)
	if len(l.entries) > l.size {
		l.entries = l.entries[:l.size]
	}
}

// SlowLog returns the slowest statements so far, the slowest first.
func (e *Engine) SlowLog() []Slow {
	e.slow.mu.Lock()
	defer e.slow.mu.Unlock()
	return slices.Clone(e.slow.entries)
}
