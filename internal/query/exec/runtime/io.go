package runtime

import (
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// ioCounts counts what the transactions of a profiled run read and what they exchange with other processes, and charges both to stages.
type ioCounts struct {
	reads   graph.Reads
	metered []shard.Metered
	wire    graph.Wire
	wired   []shard.Wired
	charged struct{ reads, wire [3]int64 } // the part that stages have been charged for
}

// count makes a transaction count what it has features for.
func (c *ioCounts) count(tx shard.Tx, stats []Stat) {
	f := tx.Features()
	if m := f.Reads; m != nil {
		m.Meter(&c.reads)
		c.metered = append(c.metered, m)
		for i := range stats {
			stats[i].Metered = true
		}
	}
	if w := f.Wire; w != nil {
		w.Wire(&c.wire)
		c.wired = append(c.wired, w)
		for i := range stats {
			stats[i].Wired = true
		}
	}
}

// charge adds what has been counted since the last call to a stage.
func (c *ioCounts) charge(st *Stat) {
	wire := [3]int64{c.wire.Requests.Load(), c.wire.Sent.Load(), c.wire.Received.Load()}
	st.Calls += wire[0] - c.charged.wire[0]
	st.Sent += wire[1] - c.charged.wire[1]
	st.Received += wire[2] - c.charged.wire[2]
	reads := [3]int64{c.reads.Hits.Load(), c.reads.Misses.Load(), c.reads.Large.Load()}
	st.Hits += reads[0] - c.charged.reads[0]
	st.Misses += reads[1] - c.charged.reads[1]
	st.Large += reads[2] - c.charged.reads[2]
	c.charged.wire, c.charged.reads = wire, reads
}

// stop ends the counting.
func (c *ioCounts) stop() {
	for _, m := range c.metered {
		m.Meter(nil)
	}
	for _, w := range c.wired {
		w.Wire(nil)
	}
}
