package algo_test

import (
	"math"
	"slices"
)

// world is a small graph as a list of edges; the naive algorithms below follow the definitions, edge by edge.
type world struct {
	n     int
	edges []edge
}

type edge struct {
	src, dst int
	weight   float64
}

// turned returns the edges in a direction: out, in or both.
func (w *world) turned(direction string) *world {
	t := &world{n: w.n}
	for _, e := range w.edges {
		if direction != "in" {
			t.edges = append(t.edges, e)
		}
		if direction == "in" || direction == "both" && e.src != e.dst {
			t.edges = append(t.edges, edge{e.dst, e.src, e.weight})
		}
	}
	return t
}

func naivePageRank(w *world, iterations int, damping float64) []float64 {
	degree := make([]int, w.n)
	for _, e := range w.edges {
		degree[e.src]++
	}
	rank := make([]float64, w.n)
	for v := range rank {
		rank[v] = 1 / float64(w.n)
	}
	for range iterations {
		next := make([]float64, w.n)
		for v := range w.n {
			next[v] += (1 - damping) / float64(w.n)
			if degree[v] == 0 {
				for u := range w.n {
					next[u] += damping * rank[v] / float64(w.n)
				}
			}
		}
		for _, e := range w.edges {
			next[e.dst] += damping * rank[e.src] / float64(degree[e.src])
		}
		rank = next
	}
	return rank
}

// naiveWCC spreads the least number along edges until nothing changes.
func naiveWCC(w *world) []int {
	least := make([]int, w.n)
	for v := range least {
		least[v] = v
	}
	for changed := true; changed; {
		changed = false
		for _, e := range w.edges {
			if m := min(least[e.src], least[e.dst]); least[e.src] != m || least[e.dst] != m {
				least[e.src], least[e.dst], changed = m, m, true
			}
		}
	}
	return least
}

func naiveCDLP(w *world, iterations int) []int {
	label := make([]int, w.n)
	for v := range label {
		label[v] = v
	}
	for range iterations {
		next := slices.Clone(label)
		for v := range w.n {
			count := map[int]int{}
			for _, e := range w.edges {
				if e.src == v {
					count[label[e.dst]]++
				}
			}
			most := 0
			for l, c := range count {
				if c > most || c == most && l < next[v] {
					most, next[v] = c, l
				}
			}
		}
		label = next
	}
	return label
}

// naiveLCC counts edges between neighbours pair by pair.
func naiveLCC(w *world, undirected bool) []float64 {
	joined := map[[2]int]bool{}
	for _, e := range w.edges {
		joined[[2]int{e.src, e.dst}] = true
		if undirected {
			joined[[2]int{e.dst, e.src}] = true
		}
	}
	out := make([]float64, w.n)
	for v := range w.n {
		near := w.near(v)
		edges := 0
		for _, a := range near {
			for _, b := range near {
				if a != b && joined[[2]int{a, b}] {
					edges++
				}
			}
		}
		if d := len(near); d > 1 {
			out[v] = float64(edges) / float64(d*(d-1))
		}
	}
	return out
}

// near returns the distinct neighbours of a vertex, along any edge.
func (w *world) near(v int) []int {
	var near []int
	for _, e := range w.edges {
		if e.src == v && e.dst != v {
			near = append(near, e.dst)
		}
		if e.dst == v && e.src != v {
			near = append(near, e.src)
		}
	}
	slices.Sort(near)
	return slices.Compact(near)
}

func naiveTriangles(w *world) []float64 {
	out := make([]float64, w.n)
	for a := range w.n {
		for _, b := range w.near(a) {
			for _, c := range w.near(b) {
				if b < c && slices.Contains(w.near(a), c) {
					out[a]++
				}
			}
		}
	}
	return out
}

// naiveDistances relaxes all edges until nothing changes (Bellman and Ford).
func naiveDistances(w *world, source int, weigh func(e edge) float64) []float64 {
	d := make([]float64, w.n)
	for v := range d {
		d[v] = math.Inf(1)
	}
	d[source] = 0
	for changed := true; changed; {
		changed = false
		for _, e := range w.edges {
			if c := d[e.src] + weigh(e); c < d[e.dst] {
				d[e.dst], changed = c, true
			}
		}
	}
	return d
}

// naiveSCC tests for every two vertices whether they reach each other.
func naiveSCC(w *world) []int {
	reach := make([][]float64, w.n)
	for v := range reach {
		reach[v] = naiveDistances(w, v, one)
	}
	out := make([]int, w.n)
	for v := range out {
		for out[v] = 0; math.IsInf(reach[v][out[v]], 1) || math.IsInf(reach[out[v]][v], 1); {
			out[v]++
		}
	}
	return out
}

// naiveCores takes vertices with fewer than k neighbours away, for each k.
func naiveCores(w *world) []float64 {
	out := make([]float64, w.n)
	for k := 1; k <= w.n; k++ {
		gone := make([]bool, w.n)
		for changed := true; changed; {
			changed = false
			for v := range w.n {
				left := 0
				for _, u := range w.near(v) {
					if !gone[u] {
						left++
					}
				}
				if !gone[v] && left < k {
					gone[v], changed = true, true
				}
			}
		}
		for v := range w.n {
			if !gone[v] {
				out[v] = float64(k)
			}
		}
	}
	return out
}

// naiveBetweenness adds up, for every two vertices, the share of shortest paths through each other one.
func naiveBetweenness(w *world, halve bool) []float64 {
	d, ways := make([][]float64, w.n), make([][]float64, w.n)
	for s := range w.n {
		d[s], ways[s] = naiveDistances(w, s, one), make([]float64, w.n)
		ways[s][s] = 1
		for step := 1.0; step < float64(w.n); step++ {
			seen := map[[2]int]bool{}
			for _, e := range w.edges {
				if pair := [2]int{e.src, e.dst}; d[s][e.dst] == step && d[s][e.src] == step-1 && !seen[pair] {
					seen[pair] = true
					ways[s][e.dst] += ways[s][e.src]
				}
			}
		}
	}
	out := make([]float64, w.n)
	for s := range w.n {
		for t := range w.n {
			for v := range w.n {
				if v != s && v != t && s != t && !math.IsInf(d[s][t], 1) && d[s][v]+d[v][t] == d[s][t] {
					out[v] += ways[s][v] * ways[v][t] / ways[s][t]
				}
			}
		}
	}
	if halve {
		for v := range out {
			out[v] /= 2
		}
	}
	return out
}

// naiveSimilarity compares the sets of neighbours of every two vertices.
func naiveSimilarity(w *world) map[[2]int]float64 {
	sets := make([]map[int]bool, w.n)
	for v := range sets {
		sets[v] = map[int]bool{}
	}
	for _, e := range w.edges {
		sets[e.src][e.dst] = true
	}
	out := map[[2]int]float64{}
	for a := range w.n {
		for b := range w.n {
			shared := 0
			for v := range sets[a] {
				if sets[b][v] {
					shared++
				}
			}
			if a != b && shared > 0 {
				out[[2]int{a, b}] = float64(shared) / float64(len(sets[a])+len(sets[b])-shared)
			}
		}
	}
	return out
}

// modularity follows the definition, pair by pair.
func (w *world) modularity(group []int) float64 {
	between, degree, total := map[[2]int]float64{}, make([]float64, w.n), 0.0
	for _, e := range w.edges {
		between[[2]int{e.src, e.dst}] += e.weight
		between[[2]int{e.dst, e.src}] += e.weight
		degree[e.src] += e.weight
		degree[e.dst] += e.weight
		total += 2 * e.weight
	}
	q := 0.0
	for a := range w.n {
		for b := range w.n {
			if group[a] == group[b] {
				q += (between[[2]int{a, b}] - degree[a]*degree[b]/total) / total
			}
		}
	}
	return q
}
