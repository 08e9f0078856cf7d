package remote

import (
	"context"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
)

// hedger makes the calls that read of one shard. A call that takes longer than nearly all of its like do is made once
// more, over another connection to the same process: the answer that comes first counts, and the other call is ended. So
// a lost packet, or a connection that hangs, costs little more than an answer does. A process that is slow itself is
// spared by the budget. It implements caller.
type hedger struct {
	first, second caller
	kinds         map[string]*[sizeClasses]latencies
	budget        *hedges
}

// newHedger makes a hedger for the ReadService.
func newHedger(first, second caller, budget *hedges) *hedger {
	h := &hedger{first: first, second: second, kinds: map[string]*[sizeClasses]latencies{}, budget: budget}
	for _, m := range pb.ReadService_ServiceDesc.Methods {
		h.kinds["/"+pb.ReadService_ServiceDesc.ServiceName+"/"+m.MethodName] = new([sizeClasses]latencies)
	}
	return h
}

// NewStream implements grpc.ClientConnInterface. Streams are not hedged.
func (h *hedger) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return h.first.NewStream(ctx, d, method, opts...)
}

// Invoke implements grpc.ClientConnInterface.
func (h *hedger) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	return h.start(ctx, method, args.(proto.Message), reply.(proto.Message), nil)()
}

// start implements caller.
func (h *hedger) start(ctx context.Context, method string, in, out proto.Message, fan *fanout) (finish func() error) {
	like := &h.kinds[method][sizeClass(proto.Size(in))]
	began := time.Now()
	after := like.slow()
	if after == 0 {
		answered := h.first.start(ctx, method, in, out, fan)
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
	done, again := make(chan struct{}), fan.alone()
	timer := time.AfterFunc(after, func() {
		defer close(done)
		if !h.budget.spend() {
			return
		}
		answer := answers.New().Interface()
		if h.second.start(second, method, in, answer, again)() == nil {
			other = answer
			endFirst()
		}
	})
	answered := h.first.start(first, method, in, out, fan)
	return func() error {
		defer endFirst()
		defer endSecond()
		err := answered()
		if !timer.Stop() {
			endSecond()
			<-done // it may use in no longer
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

// move makes dst what src is, with the memory of its fields: neither changes any more.
func move(dst, src proto.Message) {
	proto.Reset(dst)
	to, from := dst.ProtoReflect(), src.ProtoReflect()
	for fields, i := from.Descriptor().Fields(), 0; i < fields.Len(); i++ {
		if f := fields.Get(i); from.Has(f) {
			to.Set(f, from.Get(f))
		}
	}
}

// hedges is how many calls a gateway has made twice, and may.
type hedges struct {
	credit    atomic.Int64
	made, won atomic.Uint64
}

// One call in hedgeEvery may be made twice, and hedgeSaved at a time if none were for long.
const hedgeEvery, hedgeSaved = 20, 10

func (b *hedges) earn() {
	if b.credit.Load() < hedgeEvery*hedgeSaved {
		b.credit.Add(1)
	}
}

func (b *hedges) spend() bool {
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

// sizeClasses are those of requests by their size, each 16 times the one before: larger requests take longer.
const sizeClasses = 6

func sizeClass(bytes int) int { return min(bits.Len(uint(bytes))/4, sizeClasses-1) }

// latencies is how long calls of one kind have taken lately.
type latencies struct {
	late atomic.Int64 // see slow; in nanoseconds

	mu    sync.Mutex
	bars  [4 * 40]uint32 // four to a doubling, from a microsecond on
	total uint32
}

const (
	// enough calls make a picture; half of it is forgotten when there are many.
	enough, many = 128, 4096
	// one call in slowPart takes longer than what is slow, which is hedgeFloor at least.
	slowPart   = 100
	hedgeFloor = 5 * time.Millisecond
)

// slow is how long nearly all calls take at most, 0 if that is not known.
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
