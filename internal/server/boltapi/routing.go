package boltapi

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/changes"
)

const (
	// tableTime is how long clients keep a routing table.
	tableTime = 300 * time.Second
	// lookupTime bounds a question for the gateways' records.
	lookupTime = 5 * time.Second
	// bookmarkPrefix is the prefix of this server's bookmarks.
	bookmarkPrefix = "hg1:"
)

// Route implements bolt.Backend.
func (p *peer) Route(ctx context.Context, r *bolt.RouteRequest) (*bolt.Table, error) {
	c := bolt.Context{Graph: r.Graph, Bookmarks: r.Bookmarks, Impersonate: r.Impersonate}
	ctx, err := p.ask(ctx, &c)
	if err != nil {
		return nil, err
	}
	name, err := p.s.e.GraphNamed(ctx, r.Graph)
	if err != nil {
		return nil, err
	}
	addresses, err := p.addresses(ctx, r.Address)
	if err != nil {
		return nil, err
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.session.ID))
	by := int(h.Sum32() % uint32(len(addresses)))
	return &bolt.Table{Graph: p.s.e.ClientName(name), TTL: tableTime, Addresses: slices.Concat(addresses[by:], addresses[:by])}, nil
}

// addresses returns the addresses for routing tables: all gateways, the advertised address, the one that the client used, or the
// listener's.
func (p *peer) addresses(ctx context.Context, asked string) ([]string, error) {
	if list := p.s.opt.Gateways; list != "" {
		if name, ok := strings.CutPrefix(list, "srv:"); ok {
			return lookup(ctx, name)
		}
		var out []string
		for a := range strings.SplitSeq(list, ",") {
			out = append(out, strings.TrimSpace(a))
		}
		return out, nil
	}
	for _, a := range []string{p.s.opt.Advertise, asked, p.routed} {
		if a != "" {
			return []string{a}, nil
		}
	}
	return []string{p.c.LocalAddr().String()}, nil
}

// lookup resolves SRV records to addresses.
func lookup(ctx context.Context, name string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	_, records, err := net.DefaultResolver.LookupSRV(ctx, "", "", name)
	if err == nil && len(records) == 0 {
		err = fmt.Errorf("%s has no SRV records", name)
	}
	if err != nil {
		return nil, graph.Unavailable("DatabaseError", "NoGateways", "cannot resolve the gateways' addresses, bolt-gateways", err)
	}
	var out []string
	for _, r := range records {
		out = append(out, net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port))))
	}
	slices.Sort(out)
	return out, nil
}

// numbers count the states of graphs that commits have left, commands included, which no log counts.
type numbers struct{ last atomic.Uint64 }

// next returns the number of a state with all acknowledged commits. changed says that a commit has changed something, which advances it.
func (n *numbers) next(changed bool) uint64 {
	for {
		last := n.last.Load()
		if last > 0 && !changed {
			return last
		}
		next := max(last+1, uint64(time.Now().UnixMicro()))
		if n.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// bookmark names the state of a graph after a commit, which may have changed nothing, by a number and the token of its snapshot, if it has one.
func (p *peer) bookmark(graphName string, changed bool, token string) string {
	b := bookmarkPrefix + graphName + ":" + strconv.FormatUint(p.s.numbers.next(changed), 10)
	if token != "" {
		b += "-" + token
	}
	return b
}

// reached checks that the graph of a bookmark has the bookmark's snapshot. A transaction sees all writes acknowledged before it began, so it
// waits for none.
func (p *peer) reached(ctx context.Context, b string) error {
	rest, ok := strings.CutPrefix(b, bookmarkPrefix)
	at := strings.LastIndexByte(rest, ':')
	if !ok || at < 1 {
		return graph.InvalidBookmark(b)
	}
	number, token, signed := strings.Cut(rest[at+1:], "-")
	if _, err := strconv.ParseUint(number, 10, 64); err != nil {
		return graph.InvalidBookmark(b)
	}
	if !signed {
		return nil
	}
	err := p.s.e.Reached(ctx, rest[:at], token)
	if err == nil {
		return nil
	}
	switch e := graph.AsError(err); {
	case e.Kind == graph.KindNotFound, e.Detail == changes.OtherGraph:
		return nil // the graph has been dropped, or made again: nothing of it is left to see
	case e.Kind == graph.KindUnavailable:
		return err
	}
	return graph.InvalidBookmark(b)
}
