package runtime

import (
	"time"

	"github.com/hopgate/hopgate/internal/shard"
)

// parameter is an evaluator whose value each run binds, so that operators serve several runs.
type parameter interface {
	forgetter
	Bind(r *Run) error
}

// forgetter is a part of reusable operators. Forget releases the values of a run that ends.
type forgetter interface{ Forget() }

// Init sets what does not change between the runs of reused operators.
func (r *Run) Init(p *Program, g shard.Graph) {
	n := len(p.Stages)
	r.Program, r.Graph, r.Stats, r.meters, r.kids = p, g, make([]Stat, n), make([]meter, n), make([]Operator, n)
}

// Begin sets what belongs to one run, except for its transaction.
func (r *Run) Begin(env *Env, now time.Time) {
	r.Env, r.Current, r.Mark = *env, r.Program.Root.ID, now
	if r.labels = nil; env.Labels != nil {
		r.label(env.Labels)
	}
}

// Bind binds the parameters to the values of this run.
func (r *Run) Bind() error {
	for _, p := range r.Params {
		if err := p.Bind(r); err != nil {
			return err
		}
	}
	return nil
}

// Forget releases everything that belongs to one run.
func (r *Run) Forget() {
	for _, p := range r.Params {
		p.Forget()
	}
	for _, v := range r.Values {
		v.Forget()
	}
	clear(r.Stats)
	r.Env, r.Tx, r.Tally = Env{}, nil, tallyTx{}
	r.Counters = Counters{}
	r.bytes, r.Edges, r.BitmapFrom = 0, 0, 0
}
