package watch

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/query/explain"
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
	Plan             *explain.Node
	Took             cost.Told // nothing in entries of older versions
}

// SlowLog keeps the slowest statements. It is safe for concurrent use.
type SlowLog struct {
	mu      sync.Mutex
	size    int
	entries []Slow // the slowest first
}

// Resize sets how many statements are kept. A smaller number drops the fastest.
func (l *SlowLog) Resize(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size = n
	l.entries = l.entries[:min(n, len(l.entries))]
}

// Add adds a statement with its plan, which may be nil, if it is among the slowest.
func (l *SlowLog) Add(s Slow, kind Kind, p *exec.Prepared) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) >= l.size && s.Elapsed <= l.entries[len(l.entries)-1].Elapsed {
		return
	}
	s.Fingerprint, _ = Fingerprint(kind, s.Statement)
	if len(s.Statement) > maxSlowText {
		s.Statement = strings.ToValidUTF8(s.Statement[:maxSlowText], "")
	} else if p != nil {
		s.Plan = explain.Tree(p, nil, nil)
	}
	at, _ := slices.BinarySearchFunc(l.entries, s, func(a, b Slow) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	l.entries = slices.Insert(l.entries, at, s)
	if len(l.entries) > l.size {
		l.entries = l.entries[:l.size]
	}
}

// All returns the slowest statements so far, the slowest first.
func (l *SlowLog) All() []Slow {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}
