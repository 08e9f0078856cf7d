package algo

import (
	goruntime "runtime"

	"github.com/hopgate/hopgate/internal/query/exec/runtime"
)

// perWorker gives each goroutine of a job memory of its own, which lasts for all its parts.
type perWorker[T any] struct {
	n     int
	by    map[*runtime.Run][]T
	spare [][]T
}

// newPerWorker allocates n entries for each goroutine that the job may use.
func newPerWorker[T any](j *job, n int) (*perWorker[T], error) {
	p := &perWorker[T]{n: n, by: map[*runtime.Run][]T{}}
	workers := 1
	if n >= leastShared {
		workers += goruntime.GOMAXPROCS(0)
	}
	for range workers {
		s, err := slice[T](j, n)
		if err != nil {
			return nil, err
		}
		p.spare = append(p.spare, s)
	}
	return p, nil
}

// of gives the memory of a goroutine by its part of the run. The job's own goroutine calls it, before the others begin.
func (p *perWorker[T]) of(own *runtime.Run) []T {
	s, ok := p.by[own]
	if !ok {
		s = p.spare[len(p.spare)-1]
		p.spare = p.spare[:len(p.spare)-1]
		p.by[own] = s
	}
	return s
}
