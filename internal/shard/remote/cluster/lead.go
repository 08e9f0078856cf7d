package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hopgate/hopgate/internal/replica"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/remote/server"
)

// attemptBits is how many bits of an epoch count attempts to open the graphs; the term is above them.
const attemptBits = 16

// run leads the cluster whenever this process leads the group of shard 0, until ctx ends.
func (p *Process) run(ctx context.Context) {
	for ctx.Err() == nil {
		role, changed, err := p.replicas.Host().Role(0)
		if err != nil {
			return
		}
		if role.Leads {
			p.serve(ctx, role.Term, changed)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// serve leads the cluster in one term, which ends with changed.
func (p *Process) serve(ctx context.Context, term uint64, changed <-chan struct{}) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-changed:
			end()
		case <-ctx.Done():
		}
	}()
	began := time.Now()
	for attempt := uint64(0); attempt < 1<<attemptBits && ctx.Err() == nil; attempt++ {
		l, err := p.open(ctx, term, term<<attemptBits|attempt)
		if err == nil {
			p.log.Info("this process leads the cluster", slog.Uint64("term", term), slog.Duration("after", time.Since(began)))
			p.lead.Store(l)
			<-ctx.Done()
			p.lead.Store(nil)
			p.log.Info("this process no longer leads the cluster", slog.Uint64("term", term))
			// Pending work fails, since shards refuse this epoch now. Only the end of the process waits for it.
			p.running.Go(func() {
				if err := l.Close(); err != nil {
					p.log.Warn("cannot close the graphs", slog.Any("error", err))
				}
			})
			return
		}
		if ctx.Err() == nil {
			p.log.Warn("cannot open the graphs yet", slog.Uint64("term", term), slog.Any("error", err))
		}
		select {
		case <-time.After(rpc.LongestPause):
		case <-ctx.Done():
		}
	}
}

// open opens the graphs.
func (p *Process) open(ctx context.Context, term, epoch uint64) (*server.Leader, error) {
	if err := p.replicas.Host().Read(ctx, 0); err != nil {
		return nil, fmt.Errorf("read the list of graphs: %w", err)
	}
	g := &groups{p: p, epoch: epoch, ctx: ctx}
	opts, shared, held, err := p.replicas.Lead(g)
	if err != nil {
		return nil, err
	}
	store, err := local.OpenLeading(ctx, opts, shared, held)
	if err != nil {
		return nil, err
	}
	confirm := func(ctx context.Context) error { return p.confirm(ctx, term) }
	return server.NewLeader(ctx, store, epoch, p.layout, confirm, g.copies), nil
}

// confirm returns nil if this process still leads the cluster in a term, at some time after the call.
func (p *Process) confirm(ctx context.Context, term uint64) error {
	host := p.replicas.Host()
	if host.Leased(0, term) {
		return nil
	}
	if err := host.Confirm(ctx, 0, term); err != nil {
		return server.NotLeading(-1, err)
	}
	return nil
}

// Transfer transfers the lead of all groups to other processes, and returns once they lead or ctx ends.
func (p *Process) Transfer(ctx context.Context) {
	var handing sync.WaitGroup
	for group, s := range p.replicas.Replicas() {
		if s.Leads {
			handing.Go(func() {
				err := p.replicas.Host().Transfer(ctx, group, 0)
				for errors.Is(err, replica.ErrNoTransfer) {
					select {
					case <-time.After(rpc.LongestPause): // until live members have answered a heartbeat
						err = p.replicas.Host().Transfer(ctx, group, 0)
					case <-ctx.Done():
						err = ctx.Err()
					}
				}
				if err != nil && !errors.Is(err, replica.ErrNotLeader) {
					p.log.Warn("the lead is not transferred", slog.Uint64("group", uint64(group)), slog.Any("error", err))
				}
			})
		}
	}
	handing.Wait()
}
