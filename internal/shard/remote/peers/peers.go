package peers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// List is the processes of a cluster with replicas, by their numbers, and the connections to them. Those of the layout come first, under the
// addresses that this process is started with. Others are added behind them, and a process that is removed keeps its number permanently:
// the members of group 0 say so (replica.Members.Addresses). All processes exchange their lists: of two, the longer one is newer, and the
// one with more removals. So a list needs no version.
type List struct {
	o Options

	known  atomic.Pointer[[]*Peer] // never changed, only replaced
	mu     sync.Mutex              // held while known is replaced
	closed bool
}

// Options are those of a List. Functions may be nil.
type Options struct {
	Self    int // the number of this process, to which there is no connection; -1 for a gateway
	Dial    []grpc.DialOption
	Changed func(all []*Peer)                         // called with each new list, one after the other
	Behind  func()                                    // called when another process knows more
	Agrees  func(no int, a *pb.MembersResponse) error // returns an error if the list of a process is not to be trusted
	Target  func(no int) string                       // returns the gRPC target of a process, in place of its address
}

// Peer is another process, and the connections to it.
type Peer struct {
	rpc.Conn                          // for the calls of wire.Services, over Raw
	Second   rpc.Conn                 // the same over another connection; of gateways
	Raw      grpc.ClientConnInterface // for other services; without a connection, its calls fail at once
	Address  string                   // "" if the process is removed
	down     atomic.Int64             // until when, in Unix nanoseconds, it is asked last
	close    func() error             // nil without a connection
}

// Connected reports whether there is a connection, which may fail.
func (p *Peer) Connected() bool { return p.close != nil }

// Avoid makes readers ask the process last for a time.
func (p *Peer) Avoid(d time.Duration) { p.down.Store(time.Now().Add(d).UnixNano()) }

// Avoided reports whether the process is to be asked last.
func (p *Peer) Avoided() bool { return p.down.Load() > time.Now().UnixNano() }

// absent stands for the connection to a process that has none. It implements rpc.Conn.
type absent struct{}

var errAbsent = status.Error(codes.Unavailable, "the process was removed, or is not known yet")

// Invoke implements grpc.ClientConnInterface.
func (absent) Invoke(context.Context, string, any, any, ...grpc.CallOption) error { return errAbsent }

// NewStream implements grpc.ClientConnInterface.
func (absent) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errAbsent
}

// Start implements rpc.Caller.
func (absent) Start(context.Context, string, proto.Message, proto.Message, *rpc.Group) (finish func() error) {
	return func() error { return errAbsent }
}

func newAbsent(address string) *Peer { return &Peer{Conn: absent{}, Raw: absent{}, Address: address} }

// nobody stands for unknown and removed processes.
var nobody = newAbsent("")

// NewList returns an empty list.
func NewList(o Options) *List {
	l := &List{o: o}
	l.known.Store(&[]*Peer{})
	return l
}

// All returns the processes by their numbers. The caller does not change them.
func (l *List) All() []*Peer { return *l.known.Load() }

// At returns a process.
func (l *List) At(no int) *Peer {
	if all := l.All(); no >= 0 && no < len(all) {
		return all[no]
	}
	return nobody
}

// Removed reports whether a process is removed.
func (l *List) Removed(no int) bool { return no >= 0 && no < len(l.All()) && l.At(no).Address == "" }

// Addresses returns the addresses of all processes, "" of those that are removed.
func (l *List) Addresses() []string {
	var out []string
	for _, p := range l.All() {
		out = append(out, p.Address)
	}
	return out
}

// Changes counts the processes, and removed ones twice: a higher count is a newer list.
func (l *List) Changes() (n uint32) {
	for _, p := range l.All() {
		if n++; p.Address == "" {
			n++
		}
	}
	return n
}

// Learn adds the processes that addresses has beyond the known ones, and removes those without an address.
func (l *List) Learn(addresses []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	all := slices.Clone(l.All())
	var left []*Peer
	news := false
	for no, a := range addresses {
		switch {
		case no < len(all) && (a != "" || all[no].Address == ""):
			continue
		case no < len(all):
			left = append(left, all[no])
			all[no] = nobody
		default:
			p, err := l.reach(no, a)
			if err != nil {
				return fmt.Errorf("process %d: %w", no, err)
			}
			all = append(all, p)
		}
		news = true
	}
	if !news {
		return nil
	}
	l.known.Store(&all)
	if l.o.Changed != nil {
		l.o.Changed(all)
	}
	return hangUp(left)
}

// reach makes the connection to a process.
func (l *List) reach(no int, address string) (*Peer, error) {
	if address == "" || no == l.o.Self {
		return newAbsent(address), nil
	}
	target := address
	if l.o.Target != nil {
		target = l.o.Target(no)
	}
	conn, err := rpc.Dial(target, l.o.Dial...)
	if err != nil {
		return nil, err
	}
	place := pb.NewPlaceServiceClient(conn)
	heartbeat := rpc.StartHeartbeat(func(ctx context.Context) error {
		a, err := place.Place(ctx, &pb.PlaceRequest{})
		if err == nil && l.o.Behind != nil && a.GetChanges() > l.Changes() {
			l.o.Behind()
		}
		return err
	})
	over := func(conn *grpc.ClientConn) rpc.Conn {
		return rpc.NewBatched(rpc.NewConnection(conn, wire.Services, heartbeat), &wire.Batches)
	}
	p := &Peer{Conn: over(conn), Raw: conn, Address: address, close: func() error {
		heartbeat.Close() // fails pending calls
		return conn.Close()
	}}
	if l.o.Self >= 0 {
		return p, nil
	}
	second, err := rpc.Dial(target, l.o.Dial...) // it connects with the first call
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.Second, p.close = over(second), func() error {
		heartbeat.Close()
		return errors.Join(conn.Close(), second.Close())
	}
	return p, nil
}

// Close ends the connections.
func (l *List) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	return hangUp(l.All())
}

// hangUp closes the connections to some processes.
func hangUp(peers []*Peer) error {
	var errs []error
	for _, p := range peers {
		if p.close != nil {
			errs = append(errs, p.close())
		}
	}
	return errors.Join(errs...)
}

// Ask asks the other processes for the state of their replicas, and learns the addresses that they know. Each process has an answer or an error,
// or neither if it was not asked.
func (l *List) Ask(ctx context.Context) (answers []*pb.MembersResponse, errs []error) {
	all := l.All()
	answers, errs = make([]*pb.MembersResponse, len(all)), make([]error, len(all))
	var asking sync.WaitGroup
	for i, p := range all {
		if p.close != nil {
			asking.Go(func() { answers[i], errs[i] = pb.NewMemberServiceClient(p.Raw).Members(ctx, &pb.MembersRequest{}) })
		}
	}
	asking.Wait()
	for i, a := range answers {
		if a != nil && l.o.Agrees != nil && l.o.Agrees(i, a) != nil {
			continue
		}
		if err := l.Learn(a.GetAddresses()); err != nil && errs[i] == nil {
			errs[i] = err
		}
	}
	return answers, errs
}
