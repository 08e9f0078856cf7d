package exec

import (
	"time"

	"github.com/hopgate/hopgate/internal/shard"
)

// parameter is an evaluator of operators that serve several runs; it gives the value that a parameter has in each.
type parameter interface {
	forgetter
	bind(r *run) error
}

// forgetter is a part of operators that serve several runs. It lets go of the values of a run that ends.
type forgetter interface{ forget() }

// init gives a run what does not change if its operators serve others.
func (r *run) init(p *program, g shard.Graph) {
	n := len(p.stages)
	r.p, r.g, r.stats, r.meters, r.kids = p, g, make([]Stat, n), make([]meter, n), make([]operator, n)
}

// begin gives the run what belongs to it alone, but for its transaction.
func (r *run) begin(env *Env, now time.Time) {
	r.env, r.current, r.mark = *env, r.p.root.id, now
	if r.labels = nil; env.Labels != nil {
		r.label(env.Labels)
	}
}

// bind gives the evaluators of parameters the values of this run.
func (r *run) bind() error {
	for _, p := range r.params {
		if err := p.bind(r); err != nil {
			return err
		}
	}
	return nil
}

// forget lets go of all that belongs to the run alone.
func (r *run) forget() {
	for _, p := range r.params {
		p.forget()
	}
	for _, v := range r.values {
		v.forget()
	}
	clear(r.stats)
	r.env, r.tx, r.tally = Env{}, nil, tallyTx{}
	r.counters = Counters{}
	r.bytes, r.edges, r.fewest = 0, 0, 0
}
