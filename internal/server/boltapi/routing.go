package boltapi

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/graph"
)

const (
	// tableTime is how long clients keep a routing table.
	tableTime = 300 * time.Second
	// lookupTime bounds a question for the gateways' records.
	lookupTime = 5 * time.Second
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
