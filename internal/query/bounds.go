package query

import (
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/query/admission"
)

// Bounds limit requests. Unlike other options, they can change while the engine runs; requests that have begun may keep the old ones.
type Bounds struct {
	Timeout, MaxTimeout time.Duration
	MaxRows, MaxVisits  int64
	Admission           admission.Limits
}

// Bounds returns the limits among options.
func (o *Options) Bounds() Bounds {
	return Bounds{Timeout: o.Timeout, MaxTimeout: o.MaxTimeout, MaxRows: o.MaxRows, MaxVisits: o.MaxVisits, Admission: o.Admission}
}

// LiveBounds are the limits in force. They are safe for concurrent use.
type LiveBounds struct {
	now  atomic.Pointer[Bounds]
	gate *admission.Gate
}

func newLiveBounds(o *Options, gate *admission.Gate) *LiveBounds {
	l := &LiveBounds{gate: gate}
	b := o.Bounds()
	l.now.Store(&b)
	return l
}

// Set changes the limits, and admits waiting requests that fit now.
func (l *LiveBounds) Set(b Bounds) {
	l.now.Store(&b)
	l.gate.SetLimits(b.Admission)
}

func (l *LiveBounds) get() *Bounds { return l.now.Load() }
