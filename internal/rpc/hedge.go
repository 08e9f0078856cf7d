package rpc

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Hedger makes the calls of a service that only reads. It repeats a call that takes longer than 99% of similar ones by second: the first answer
// counts, and the other call is cancelled. So a lost packet, or a connection that hangs, costs little more than a call. The budget protects a
// process that is slow itself. It implements Caller.
type Hedger struct {
	first, second Caller
	kinds         map[string]*[sizeClasses]latencies
	budget        *HedgeBudget
}

// NewHedger returns a Hedger for the calls of a service.
func NewHedger(first, second Caller, service *grpc.ServiceDesc, budget *HedgeBudget) *Hedger {
	h := &Hedger{first: first, second: second, kinds: map[string]*[sizeClasses]latencies{}, budget: budget}
	for _, m := range service.Methods {
		h.kinds["/"+service.ServiceName+"/"+m.MethodName] = new([sizeClasses]latencies)
	}
	return h
}

// Start implements Caller.
func (h *Hedger) Start(ctx context.Context, method string, in, out proto.Message, group *Group) (finish func() error) {
	like := &h.kinds[method][sizeClass(proto.Size(in))]
	began := time.Now()
	after := like.slow()
	if after == 0 {
		answered := h.first.Start(ctx, method, in, out, group)
		return func() error {
			err := answered()
			if err == nil {
				like.observe(time.Since(began))
			}
			return err
		}
	}
	h.budget.earn()
	first, endFirst := context.WithCancel(ctx)
	second, endSecond := context.WithCancel(ctx)
	var other proto.Message // the answer to the second call
	answers := out.ProtoReflect().Type()
	done, again := make(chan struct{}), group.alone()
	timer := time.AfterFunc(after, func() {
		defer close(done)
		if !h.budget.spend() {
			return
		}
		answer := answers.New().Interface()
		if h.second.Start(second, method, in, answer, again)() == nil {
			other = answer
			endFirst()
		}
	})
	answered := h.first.Start(first, method, in, out, group)
	return func() error {
		defer endFirst()
		defer endSecond()
		err := answered()
		if !timer.Stop() {
			endSecond()
			<-done // the second call must no longer read in
			if err != nil && other != nil {
				move(out, other)
				h.budget.won.Add(1)
				err = nil
			}
		}
		if err == nil {
			like.observe(time.Since(began))
		}
		return err
	}
}

// move makes dst equal to src, and shares its memory: neither changes later.
func move(dst, src proto.Message) {
	proto.Reset(dst)
	to, from := dst.ProtoReflect(), src.ProtoReflect()
	for fields, i := from.Descriptor().Fields(), 0; i < fields.Len(); i++ {
		if f := fields.Get(i); from.Has(f) {
			to.Set(f, from.Get(f))
		}
	}
}

// HedgeBudget bounds how many calls are repeated, and counts them. The zero value is ready to use.
type HedgeBudget struct {
	credit    atomic.Int64
	made, won atomic.Uint64
}

// Counts returns how many calls were repeated, and how many of them the second one answered.
func (b *HedgeBudget) Counts() (made, won uint64) { return b.made.Load(), b.won.Load() }

// One call in hedgeEvery may be repeated, and hedgeSaved in a row after a while without any.
const hedgeEvery, hedgeSaved = 20, 10

func (b *HedgeBudget) earn() {
	if b.credit.Load() < hedgeEvery*hedgeSaved {
		b.credit.Add(1)
	}
}

func (b *HedgeBudget) spend() bool {
	for {
		have := b.credit.Load()
		if have < hedgeEvery {
			return false
		}
		if b.credit.CompareAndSwap(have, have-hedgeEvery) {
			b.made.Add(1)
			return true
		}
	}
}

// sizeClasses is how many classes of requests are told apart by size, each 16 times the one before: larger requests take longer.
const sizeClasses = 6

func sizeClass(bytes int) int { return min(bits.Len(uint(bytes))/4, sizeClasses-1) }

// latencies is a histogram of how long recent calls of one kind have taken.
type latencies struct {
	late atomic.Int64 // see slow; in nanoseconds

	mu    sync.Mutex
	bars  [4 * 40]uint32 // four to a doubling, from a microsecond on
	total uint32
}

const (
	// enough calls give an estimate; the histogram is halved when there are many.
	enough, many = 128, 4096
	// one call in slowPart is slow, and takes hedgeFloor at least.
	slowPart   = 100
	hedgeFloor = 5 * time.Millisecond
)

// slow returns how long a call takes at least to be slow, 0 if that is not known yet.
func (l *latencies) slow() time.Duration { return time.Duration(l.late.Load()) }

func (l *latencies) observe(d time.Duration) {
	us := uint64(max(d.Microseconds(), 1))
	power := bits.Len64(us) - 1
	bar := min(4*power+int(us<<2>>power&3), len(l.bars)-1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bars[bar]++
	if l.total++; l.total < enough || l.total%(enough/2) != 0 {
		return
	}
	above := uint32(0)
	for bar = len(l.bars) - 1; bar > 0; bar-- {
		if above += l.bars[bar]; above > l.total/slowPart {
			break
		}
	}
	top := time.Duration(4+bar%4+1) << (bar / 4) * time.Microsecond / 4
	l.late.Store(int64(max(top, hedgeFloor)))
	if l.total >= many {
		l.total = 0
		for i := range l.bars {
			l.bars[i] /= 2
			l.total += l.bars[i]
		}
	}
}
