package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/shard/v1"
	"github.com/hopgate/hopgate/internal/rpc"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/remote/wire"
)

// agreeEvery is how often a process compares its settings with those of the others.
const agreeEvery = 2 * time.Second

// errDiffers is the error of processes that were started with different addresses or layouts.
var errDiffers = errors.New("all processes of a cluster must be started with the same addresses in the same order, shards and replicas")

// checkAgreement compares the settings of the other processes with its own until the process ends. It logs those that differ, and those that
// do not answer twice in a row, since they may be starting.
func (p *Process) checkAgreement() {
	said := map[int]string{} // what was logged about a process
	silent := map[int]bool{} // did not answer the last time
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
		case <-p.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(p.ctx, rpc.HeartbeatTimeout)
		answers, errs := p.peers.Ask(ctx)
		cancel()
		if p.ctx.Err() != nil {
			return
		}
		var differ []error
		for no, a := range answers {
			if a != nil && int(a.GetProcess()) == no {
				p.stores.Store(no, a.GetStore())
			}
		}
		for no, a := range answers {
			log := p.log.With(slog.Int("process", no), slog.String("address", p.peers.At(no).Address))
			err, was := errs[no], said[no]
			switch {
			case p.peers.Removed(no):
				delete(said, no)
				continue
			case err != nil && !silent[no]:
			case err != nil && was != "silent":
				said[no] = "silent"
				log.Warn("another process of the cluster does not answer", slog.Any("error", err))
			case err == nil && a != nil:
				now := ""
				if err := p.agrees(no, a); err != nil {
					now = err.Error()
					differ = append(differ, err)
				}
				switch said[no] = now; {
				case now == was:
				case now == "":
					log.Info("another process of the cluster answers")
				default:
					log.Error("another process belongs to another cluster, or was started with other settings or a program of another version", slog.String("error", now))
				}
			}
			silent[no] = err != nil
		}
		var err error
		if 2*len(differ) > p.layout.Processes-1 { // else the others are more likely to be wrong
			err = errors.Join(differ...)
		}
		p.differs.Store(&err)
		if len(differ) == 0 {
			p.raise(p.ctx, answers)
		}
		if err != nil {
			wait.Reset(rpc.LongestPause) // the process cannot join before that
			continue
		}
		wait.Reset(agreeEvery)
	}
}

// storeOf returns the log store of a process, or nil if it is not known yet.
func (p *Process) storeOf(no int) []byte {
	store, _ := p.stores.Load(no)
	id, _ := store.([]byte)
	return id
}

// agrees returns an error unless another process has the number that this one knows it by, runs together with this program, and was started with
// the same processes and layout. Two addresses, such as those of relays, belong to one process if the same log store answers at both.
func (p *Process) agrees(no int, a *pb.MembersResponse) error {
	own, theirs, layout := p.peers.Addresses(), a.GetAddresses(), wire.DecodeLayout(a.GetLayout())
	same := layout == p.layout
	for i := range min(layout.Processes, len(own), len(theirs)) {
		named := own[i] == theirs[i] || own[i] == "" || theirs[i] == "" // "" if it was removed
		if store := p.storeOf(i); !named && len(store) > 0 && i < len(a.GetStores()) {
			named = bytes.Equal(store, a.GetStores()[i])
		}
		same = same && named
	}
	describe := func(l shard.Layout, addresses []string) string {
		return fmt.Sprintf("%s with %d shards of %d replicas", strings.Join(addresses[:min(l.Processes, len(addresses))], ","), l.Shards, l.Replicas)
	}
	switch {
	case !same:
		return fmt.Errorf("%w: process %d at %s has %s; this process %d has %s", errDiffers, a.GetProcess(), own[no], describe(layout, theirs), p.no, describe(p.layout, own))
	case int(a.GetProcess()) != no:
		return fmt.Errorf("%w: the process at %s is process %d, and not %d", errDiffers, own[no], a.GetProcess(), no)
	}
	return p.compatible(a)
}

// lacks returns an error if the process has no replica of a shard that the layout gives it, and its group has too few or names it.
func (p *Process) lacks() error {
	for no := range p.layout.Shards {
		if p.replicas.Parts(no) != nil || !p.replicas.Founds(no) {
			continue
		}
		if processes := p.assigned.Processes(no); len(processes) < p.layout.Replicas || slices.Contains(processes, p.no) {
			p.assigned.Renew()
			return fmt.Errorf("this process has no replica of shard %d yet", no)
		}
	}
	return nil
}
