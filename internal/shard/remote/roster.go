package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
)

// roster is the processes of a cluster with replicas, by their numbers, and the connections to them. Those of the layout come first, under
// the addresses that this process is started with. Others are added behind them, and a process that is removed keeps its place permanently:
// the members of group 0 say so (replica.Members.Addresses). All processes tell each other, and gateways, what they know: of two lists, the
// longer one is newer, and one with more removals. So a list needs no version.
type roster struct {
	self    int // this process, to which there is no connection; -1 for a gateway
	more    []grpc.DialOption
	changed func(all []*contact) // called with each new list, one after the other
	behind  func()               // called when another process knows more
	// agrees, if not nil, returns an error if what a process says is not taken in.
	agrees func(no int, a *pb.MembersResponse) error
	target func(no int) string // names a process for gRPC; nil takes its address

	known  atomic.Pointer[[]*contact] // never changed, only replaced
	mu     sync.Mutex                 // held while known is replaced
	closed bool
}

// contact is another process, and how it is reached.
type contact struct {
	caller                           // over conn
	again   caller                   // over another connection; of gateways
	conn    grpc.ClientConnInterface // of a process without a connection, its calls fail at once
	address string                   // "" if the process is removed
	down    atomic.Int64             // until when, in Unix nanoseconds, it is asked last
	close   func() error             // nil without a connection
}

// absent is the way to a process that there is no connection to. It implements caller.
type absent struct{}

var errAbsent = status.Error(codes.Unavailable, "the process was removed, or is not known yet")

// Invoke implements grpc.ClientConnInterface.
func (absent) Invoke(context.Context, string, any, any, ...grpc.CallOption) error { return errAbsent }

// NewStream implements grpc.ClientConnInterface.
func (absent) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errAbsent
}

// start implements caller.
func (absent) start(context.Context, string, proto.Message, proto.Message, *fanout) (finish func() error) {
	return func() error { return errAbsent }
}

func newAbsent(address string) *contact {
	return &contact{caller: absent{}, conn: absent{}, address: address}
}

// nobody stands for a process that is not known.
var nobody = newAbsent("")

func newRoster(self int, more []grpc.DialOption, changed func(all []*contact), behind func()) *roster {
	r := &roster{self: self, more: more, changed: changed, behind: behind}
	r.known.Store(&[]*contact{})
	return r
}

// all returns the processes by their numbers. The caller does not change them.
func (r *roster) all() []*contact { return *r.known.Load() }

// at returns a process.
func (r *roster) at(no int) *contact {
	if all := r.all(); no >= 0 && no < len(all) {
		return all[no]
	}
	return nobody
}

// removed reports whether a process is removed.
func (r *roster) removed(no int) bool { return no >= 0 && no < len(r.all()) && r.at(no).address == "" }

// addresses returns the addresses of all processes, "" of those that are removed.
func (r *roster) addresses() []string {
	var out []string
	for _, p := range r.all() {
		out = append(out, p.address)
	}
	return out
}

// changes counts the processes, and those that are removed once more: who counts more knows more.
func (r *roster) changes() (n uint32) {
	for _, p := range r.all() {
		if n++; p.address == "" {
			n++
		}
	}
	return n
}

// learn takes in what addresses has beyond what is known: further processes, and removals.
func (r *roster) learn(addresses []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	all := slices.Clone(r.all())
	var left []*contact
	news := false
	for no, a := range addresses {
		switch {
		case no < len(all) && (a != "" || all[no].address == ""):
			continue
		case no < len(all):
			left = append(left, all[no])
			all[no] = nobody
		default:
			p, err := r.reach(no, a)
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
	r.known.Store(&all)
	if r.changed != nil {
		r.changed(all)
	}
	return hangUp(left)
}

// reach makes the connection to a process.
func (r *roster) reach(no int, address string) (*contact, error) {
	if address == "" || no == r.self {
		return newAbsent(address), nil
	}
	target := address
	if r.target != nil {
		target = r.target(no)
	}
	conn, err := dial(target, r.more...)
	if err != nil {
		return nil, err
	}
	l := newMonitored(conn, func(changes uint32) {
		if changes > r.changes() {
			r.behind()
		}
	})
	p := &contact{caller: l, conn: conn, address: address, close: func() error {
		l.heartbeat.close() // ends calls as those to a process that does not answer
		return conn.Close()
	}}
	if r.self >= 0 {
		return p, nil
	}
	second, err := dial(target, r.more...) // it connects with the first call
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.again, p.close = &connection{conn: second, heartbeat: l.heartbeat}, func() error {
		l.heartbeat.close()
		return errors.Join(conn.Close(), second.Close())
	}
	return p, nil
}

// close ends the connections.
func (r *roster) close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	return hangUp(r.all())
}

func hangUp(contacts []*contact) error {
	var errs []error
	for _, p := range contacts {
		if p.close != nil {
			errs = append(errs, p.close())
		}
	}
	return errors.Join(errs...)
}

// ask asks the other processes how their replicas stand, and takes in which processes they know. Those that did not answer have an error;
// those that were not asked have neither.
func (r *roster) ask(ctx context.Context) (answers []*pb.MembersResponse, errs []error) {
	all := r.all()
	answers, errs = make([]*pb.MembersResponse, len(all)), make([]error, len(all))
	var asking sync.WaitGroup
	for i, p := range all {
		if p.close != nil {
			asking.Go(func() { answers[i], errs[i] = pb.NewMemberServiceClient(p.conn).Members(ctx, &pb.MembersRequest{}) })
		}
	}
	asking.Wait()
	for i, a := range answers {
		if a != nil && r.agrees != nil && r.agrees(i, a) != nil {
			continue
		}
		if err := r.learn(a.GetAddresses()); err != nil && errs[i] == nil {
			errs[i] = err
		}
	}
	return answers, errs
}
