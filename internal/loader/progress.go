package loader

import "time"

// Progress is the state of a running load.
type Progress struct {
	Totals
	// Done of Bytes (stored size of the inputs) have been loaded. An input that is read twice counts twice. Bytes is 0 if unknown.
	Done, Bytes int64
	Elapsed     time.Duration
	Left        time.Duration // an estimate; negative if unknown
	// InFlight bytes are unacknowledged, out of Window allowed.
	InFlight, Window int64
	Stages           Stages
	Inputs           []InputProgress
	Current          int // the index in Inputs of the one being loaded
}

// InputProgress is the progress of one input.
type InputProgress struct {
	Path string
	Totals
	Done, Bytes   int64
	Elapsed, Left time.Duration
}

// Progress returns the progress of the plan's run, zero before it starts. It is safe for concurrent use.
func (p *Plan) Progress() Progress {
	if r := p.running.Load(); r != nil {
		return r.progress()
	}
	return Progress{Left: -1}
}

// left extrapolates how long the rest takes if done took elapsed.
func left(elapsed time.Duration, done, rest int64) time.Duration {
	if done <= 0 {
		return -1
	}
	return time.Duration(float64(elapsed) * float64(rest) / float64(done))
}

func (r *run) progress() Progress {
	c, now := &r.counts, time.Now()
	done, began := c.done.Load(), c.began.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	p := Progress{
		Totals: c.totals(), Done: done, Bytes: r.plan.Bytes(), Elapsed: now.Sub(r.start), Left: -1,
		InFlight: r.window.taken(), Window: r.window.size,
	}
	if p.Bytes > 0 {
		p.Left = left(p.Elapsed, done-began, p.Bytes-done)
	}
	// within returns how much of a step precedes a position.
	within := func(place, base, size int64) int64 { return min(max(place-base, 0), size) }
	type part struct{ done, began, bytes int64 }
	parts := map[*input]part{}
	base := int64(0)
	for i := range r.plan.steps {
		in := r.plan.steps[i].in
		x := parts[in]
		parts[in] = part{x.done + within(done, base, in.size), x.began + within(began, base, in.size), x.bytes + in.size}
		base += in.size
	}
	var current *input
	if len(r.plan.steps) > 0 {
		current = r.plan.steps[c.step.Load()].in
	}
	var all stageTimes
	for i, in := range r.plan.inputs {
		n, x := c.inputs[in], parts[in]
		q := InputProgress{Path: in.Name, Totals: n.Totals, Done: x.done, Bytes: x.bytes, Left: -1}
		if !n.first.IsZero() {
			q.Elapsed = n.last.Sub(n.first)
			if in == current {
				q.Elapsed = now.Sub(n.first)
			}
		}
		if x.bytes > 0 {
			q.Left = left(q.Elapsed, x.done-x.began, x.bytes-x.done)
		}
		for s, t := range n.times {
			all[s] += t
		}
		if in == current {
			p.Current = i
		}
		p.Inputs = append(p.Inputs, q)
	}
	p.Stages = all.seconds()
	return p
}

// beginAt records the position at which the run resumes.
func (c *counts) beginAt(place int64) {
	c.began.Store(place)
	c.sent.Store(place)
	c.done.Store(place)
}

// watch reports progress until the caller calls stop.
func (r *run) watch() (stop func()) {
	if r.o.Progress == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.o.Progress(r.progress())
			case <-done:
				r.o.Progress(r.progress())
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
