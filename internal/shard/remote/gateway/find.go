package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard/remote/peers"
)

// ServicePrefix begins the name of SRV records in place of addresses: srv:NAME, or srv://SERVER/NAME to ask the DNS server at SERVER.
const ServicePrefix = "srv:"

// finder finds the processes of a cluster by SRV records. It asks each process for its number, so neither names nor
// the order of the records matter, and looks again whenever a connection fails. It implements resolver.Builder, for
// targets of the form process:///NUMBER.
type finder struct {
	dns  *net.Resolver
	name string
	more []grpc.DialOption
	log  *slog.Logger
	// found is called with one more than the highest number found; it may be nil.
	found func(processes int)

	ctx     context.Context // ended by close
	stop    context.CancelFunc
	done    chan struct{} // closed when run has ended
	wake    chan struct{}
	mu      sync.Mutex
	places  map[int][]resolver.Address
	watched map[*watch]bool
}

// watch is a connection's interest in a process. It implements resolver.Resolver.
type watch struct {
	f  *finder
	no int
	cc resolver.ClientConn
}

// newFinder returns a finder of a service, see ServicePrefix.
func newFinder(service string, log *slog.Logger, more []grpc.DialOption) (*finder, error) {
	f := &finder{
		dns: net.DefaultResolver, name: strings.TrimPrefix(service, ServicePrefix), more: more, log: log,
		done: make(chan struct{}), wake: make(chan struct{}, 1), places: map[int][]resolver.Address{}, watched: map[*watch]bool{},
	}
	if rest, ok := strings.CutPrefix(f.name, "//"); ok {
		var server string
		server, f.name, _ = strings.Cut(rest, "/")
		if _, _, err := net.SplitHostPort(server); err != nil {
			return nil, fmt.Errorf("%s: %w", service, err)
		}
		f.dns = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server)
		}}
	}
	if f.name == "" {
		return nil, fmt.Errorf("%s: the name of the SRV records is missing", service)
	}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f, nil
}

// start looks for the processes until close, and calls found with one more than the highest number found.
func (f *finder) start(found func(processes int)) {
	f.found = found
	f.look()
	go f.run()
}

// target names a process for gRPC.
func (*finder) target(no int) string { return findScheme + ":///" + strconv.Itoa(no) }

// targets names the first processes.
func (f *finder) targets(processes int) (out []string) {
	for no := range processes {
		out = append(out, f.target(no))
	}
	return out
}

func (f *finder) close() {
	f.stop()
	<-f.done
}

const findScheme = "process"

// Scheme implements resolver.Builder.
func (f *finder) Scheme() string { return findScheme }

// Build implements resolver.Builder.
func (f *finder) Build(t resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	no, err := strconv.Atoi(t.Endpoint())
	if err != nil {
		return nil, err
	}
	w := &watch{f, no, cc}
	f.mu.Lock()
	f.watched[w] = true
	known := f.places[no]
	f.mu.Unlock()
	if len(known) > 0 {
		return w, cc.UpdateState(resolver.State{Addresses: known})
	}
	f.look()
	return w, nil
}

// ResolveNow implements resolver.Resolver.
func (w *watch) ResolveNow(resolver.ResolveNowOptions) { w.f.look() }

// Close implements resolver.Resolver.
func (w *watch) Close() {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	delete(w.f.watched, w)
}

// look wakes run.
func (f *finder) look() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

const (
	findEvery = time.Second     // at most
	askWithin = 2 * time.Second // a process for its number
)

// run looks for the processes when woken, and while one is missing.
func (f *finder) run() {
	defer close(f.done)
	for {
		select {
		case <-f.wake:
		case <-f.ctx.Done():
			return
		}
		if err := f.find(); err != nil && f.ctx.Err() == nil {
			f.log.Warn("processes are missing", slog.String("service", f.name), slog.Any("error", err))
			f.look()
		}
		select {
		case <-time.After(findEvery):
		case <-f.ctx.Done():
			return
		}
	}
}

// find looks up the processes and updates the connections. The error names the missing ones.
func (f *finder) find() error {
	ctx, cancel := context.WithTimeout(f.ctx, peers.Patience)
	defer cancel()
	places, failed := f.lookup(ctx)
	if len(places) == 0 {
		return errors.Join(fmt.Errorf("%s: no process answers", f.name), failed)
	}
	f.found(slices.Max(slices.Collect(maps.Keys(places))) + 1)
	f.mu.Lock()
	maps.Copy(f.places, places)
	known, watched := maps.Clone(f.places), slices.Collect(maps.Keys(f.watched))
	f.mu.Unlock()
	missing := map[int]bool{}
	for _, w := range watched {
		if found := places[w.no]; len(found) > 0 {
			// A balancer that cannot use the state says so by asking again.
			_ = w.cc.UpdateState(resolver.State{Addresses: found})
			continue
		}
		missing[w.no] = true
		if len(known[w.no]) == 0 {
			w.cc.ReportError(errors.Join(fmt.Errorf("%s: no process says that it has the number %d", f.name, w.no), failed))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var names []string
	for no := range missing {
		names = append(names, strconv.Itoa(no))
	}
	slices.Sort(names)
	return errors.Join(fmt.Errorf("no process has the number %s", strings.Join(names, ", ")), failed)
}

// lookup returns the addresses by process number. The error names the addresses that do not answer.
func (f *finder) lookup(ctx context.Context) (map[int][]resolver.Address, error) {
	_, records, err := f.dns.LookupSRV(ctx, "", "", f.name)
	if len(records) == 0 {
		return nil, err
	}
	var mu sync.Mutex
	var errs []error
	places := map[int][]resolver.Address{}
	var asking sync.WaitGroup
	for _, r := range records {
		asking.Go(func() {
			host := strings.TrimSuffix(r.Target, ".")
			ips, err := f.dns.LookupHost(ctx, host)
			for _, ip := range ips {
				at := resolver.Address{Addr: net.JoinHostPort(ip, strconv.Itoa(int(r.Port))), ServerName: host}
				no, aerr := f.ask(ctx, at)
				mu.Lock()
				if aerr == nil {
					places[no] = append(places[no], at)
				} else {
					errs = append(errs, fmt.Errorf("%s: %w", at.Addr, aerr))
				}
				mu.Unlock()
			}
			if err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
			}
		})
	}
	asking.Wait()
	for _, found := range places {
		slices.SortFunc(found, func(a, b resolver.Address) int { return strings.Compare(a.Addr, b.Addr) })
	}
	return places, errors.Join(errs...)
}

// ask asks a process for its number.
func (f *finder) ask(ctx context.Context, at resolver.Address) (no int, err error) {
	conn, err := rpc.Dial("passthrough:///"+at.Addr, append(slices.Clone(f.more), grpc.WithAuthority(at.ServerName))...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	r, err := pb.NewPlaceServiceClient(conn).Place(ctx, &pb.PlaceRequest{}, grpc.WaitForReady(false))
	return int(r.GetProcess()), err
}
