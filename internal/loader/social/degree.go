package social

import "math"

// meanDegree is the mean number of outgoing KNOWS edges of a person in a network that is large enough.
const meanDegree = 37

// pareto is a truncated heavy-tailed distribution of degrees.
type pareto struct{ least, most float64 }

// tail is the exponent of the distribution.
const tail = 1.8

// degrees returns the distribution with mean meanDegree for n persons.
func degrees(n int) pareto {
	p := pareto{most: math.Min(5000, math.Max(1, float64(n-1)/3))}
	mean := math.Min(meanDegree, p.most/2)
	lo, hi := 0.01, p.most
	for range 60 {
		p.least = (lo + hi) / 2
		if p.mean() < mean {
			lo = p.least
		} else {
			hi = p.least
		}
	}
	return p
}

// mean returns the mean of the distribution before rounding.
func (p pareto) mean() float64 {
	return p.least * (tail - math.Pow(p.least/p.most, tail-1)) / (tail - 1)
}

// draw returns a degree, rounded randomly so that the mean stays the same.
func (p pareto) draw(r *random) int {
	d := math.Min(p.most, p.least*math.Pow(1-r.unit(), -1/tail))
	return int(d + r.unit())
}
