package algo

import (
	goruntime "runtime"

	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// perWorker holds memory for each goroutine of a job, which lasts for all its parts.
type perWorker[T any] struct {
	by    map[*runtime.Run]*T
	spare []*T
}

// newWorkers allocates memory for as many goroutines as the job may use.
func newWorkers[T any](n int, make func() (T, error)) (*perWorker[T], error) {
	p := &perWorker[T]{by: map[*runtime.Run]*T{}}
	workers := 1
	if n > 1 {
		workers += goruntime.GOMAXPROCS(0)
	}
	for range workers {
		t, err := make()
		if err != nil {
			return nil, err
		}
		p.spare = append(p.spare, &t)
	}
	return p, nil
}

// of returns the memory of a goroutine by its part of the run. The job's own goroutine calls it, before the others begin.
func (p *perWorker[T]) of(own *runtime.Run) *T {
	t, ok := p.by[own]
	if !ok {
		last := len(p.spare) - 1
		t, p.spare = p.spare[last], p.spare[:last]
		p.by[own] = t
	}
	return t
}
