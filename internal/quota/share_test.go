package quota

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/cost"
	"github.com/hopgate/hopgate/internal/definition"
	"github.com/hopgate/hopgate/internal/graph"
)

// leader is a Source whose answers take some time, or do not come.
type leader struct {
	mu      sync.Mutex
	lender  *Lender
	s       *definition.Set
	rand    *rand.Rand
	latency time.Duration
	down    bool
	lost    float64 // the part of the answers that are lost
	asked   int
}

func (l *leader) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *leader) Share(ctx context.Context, r *Report) (*Answer, error) {
	l.mu.Lock()
	wait, down, lost := time.Duration(l.rand.Int64N(int64(l.latency)+1)), l.down, l.rand.Float64() < l.lost
	lender, s := l.lender, l.s
	l.asked++
	l.mu.Unlock()
	if down {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	<-time.After(wait)
	a := lender.Share(r, func(_, name string) *Quota { return Get(s, name) })
	if lost {
		return nil, errors.New("the answer is lost")
	}
	return a, nil
}

// Processes together take what a window allows, and no more than that but for what they take in the time that a batch is on its way; whatever
// becomes of the Lender.
func TestShared(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { shared(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func shared(t *testing.T, r *rand.Rand) {
	const processes, step, limit = 3, 10 * time.Millisecond, 3000
	q := Quota{Name: "q", For: "everyone", Measure: Cost, Amount: limit, Window: Minute, Mode: Enforced}
	if r.IntN(2) == 0 {
		q.Measure = Requests
	}
	src := &leader{lender: NewLender(time.Now), s: set(t, nil, q), rand: rand.New(rand.NewPCG(r.Uint64(), 2)), latency: time.Duration(1+r.IntN(300)) * time.Millisecond}
	quiet := r.IntN(2) == 0 // the Lender stays, and all of its answers arrive
	if !quiet {
		src.lost = .1
	}
	var ledgers []*Ledger
	for i := range processes {
		ahead := time.Duration(i) * 7 * time.Second // clocks differ
		l := NewLedger(src, func() time.Time { return time.Now().Add(ahead) })
		defer l.Close()
		ledgers = append(ledgers, l)
	}
	taken := map[int64]int64{}
	var most int64 // that one process takes in a second
	var inSecond [processes]map[int64]int64
	for i := range inSecond {
		inSecond[i] = map[int64]int64{}
	}
	changes := int64(0)
	for at := time.Duration(0); at < 3*time.Minute; at += step {
		if !quiet && r.IntN(3000) == 0 {
			changes++
			src.set(func() { src.lender = NewLender(time.Now) })
		}
		for i, l := range ledgers {
			if r.IntN(1+i) > 0 { // the first one has most
				continue
			}
			c := l.Of("g", src.s, nil, "")
			if err := c.Enter(); err != nil {
				require.Contains(t, []graph.Kind{graph.KindBusy, graph.KindUnavailable}, graph.AsError(err).Kind)
				continue
			}
			n := int64(1)
			if q.Measure == Cost {
				n = r.Int64N(3)
				c.Charge(cost.Cost{Visits: n})
			}
			taken[time.Now().Unix()/60] += n
			inSecond[i][time.Now().Unix()] += n
			most = max(most, inSecond[i][time.Now().Unix()])
		}
		<-time.After(step)
	}
	more := 2 * int64(processes) * most
	// A process knows the Lender's clock to half of the time that an answer takes: so early may it count for the next window.
	edge := int64(float64(processes*most) * src.latency.Seconds() / 2)
	for w, n := range taken {
		require.LessOrEqual(t, n, limit+more, "window %d", w)
		if quiet {
			require.GreaterOrEqual(t, n, limit-edge, "window %d: the demand is three times as much", w)
		}
	}
}

// While the Lender does not answer, a process goes on with the batch that it has and then for a second more. Then it refuses what it enforces.
func TestSourceDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := Quota{Name: "q", For: "everyone", Measure: Requests, Amount: 1000, Window: Day, Mode: Enforced}
		src := &leader{lender: NewLender(time.Now), s: set(t, nil, q), rand: rand.New(rand.NewPCG(1, 2)), latency: time.Millisecond}
		l := NewLedger(src, time.Now)
		defer l.Close()
		wait := func(d time.Duration) { <-time.After(d) }
		enter := func() error { return l.Of("g", src.s, nil, "").Enter() }
		require.NoError(t, enter())
		wait(100 * time.Millisecond)
		a := l.graphs["g"].meters[0].shared
		granted := func() int64 {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.granted
		}
		require.Equal(t, int64(1+1000/64), granted(), "a small one at first")
		wait(WarmTime)
		require.NoError(t, enter(), "what was unused has been returned")
		wait(100 * time.Millisecond)
		require.Equal(t, int64(2+499), granted())

		src.set(func() { src.down = true })
		ran := 0
		for range 499 {
			require.NoError(t, enter())
		}
		began := time.Now()
		var err error
		for ; err == nil; ran++ {
			err = enter()
			wait(10 * time.Millisecond)
		}
		require.Equal(t, graph.KindUnavailable, graph.AsError(err).Kind)
		require.Equal(t, "QuotaUnknown", graph.AsError(err).Detail)
		require.Less(t, time.Since(began), GraceTime+100*time.Millisecond)
		_, err = l.List(t.Context(), "g", src.s)
		require.Error(t, err)

		src.set(func() { src.down = false })
		wait(3 * time.Second)
		require.NoError(t, enter())
		states, err := l.List(t.Context(), "g", src.s)
		require.NoError(t, err)
		require.Equal(t, float64(2+499+ran), states[0].Uses[0].Used)

		// Another process sees what this one has used, also through another Lender.
		src.set(func() { src.lender = NewLender(time.Now) })
		other := NewLedger(src, time.Now)
		defer other.Close()
		wait(3 * time.Second)
		states, err = other.List(t.Context(), "g", src.s)
		require.NoError(t, err)
		require.Equal(t, float64(2+499+ran), states[0].Uses[0].Used)
	})
}

// A process that nobody uses ends its goroutine, and starts another one when it must.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := Quota{Name: "q", For: "everyone", Measure: Requests, Amount: 10, Window: Second, Mode: Enforced}
		src := &leader{lender: NewLender(time.Now), s: set(t, nil, q), rand: rand.New(rand.NewPCG(1, 2)), latency: time.Millisecond}
		l := NewLedger(src, time.Now)
		for range 2 {
			require.NoError(t, l.Of("g", src.s, nil, "").Enter())
			<-time.After(time.Minute)
			l.queueMu.Lock()
			require.False(t, l.running)
			l.queueMu.Unlock()
			src.set(func() { require.Less(t, src.asked, 12) })
		}
		// A quota that the Lender does not know does not refuse.
		s := src.s
		src.set(func() { src.s = nil })
		for range 300 {
			require.NoError(t, l.Of("g", s, nil, "").Enter())
			<-time.After(time.Second)
		}
		l.Close()
	})
}
