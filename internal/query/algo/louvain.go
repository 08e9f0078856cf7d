package algo

import (
	"context"

	"github.com/hopgate/hopgate/internal/graph"
)

var louvain = Algorithm{
	Name: "algo.louvain", Results: "node :: NODE, community :: INTEGER",
	Description: "Find communities with many edges inside and few between them (Louvain's method), whatever the directions of edges. A community is named by the least id of its nodes.",
	keys:        []string{"weight", "maxIterations"},
	defaults:    undirected,
	compute:     computeLouvain,
}

// leastGain is the part of all weights that a move must gain, so that rounding does not move vertices to and fro.
const leastGain = 1e-12

// communities are a graph in which vertices move between communities, to raise its modularity. In the first round the vertices are
// those of the graph; in later ones, each is a community of the round before.
type communities struct {
	lists  *lists
	loops  []float64 // the weight of the edges from each vertex to itself, once for each end
	of     []uint32  // the community of each vertex
	own    []float64 // the weights of the edges at each vertex
	in     []float64 // the same of each community
	near   []float64 // the weights between a vertex and each community, 0 between two vertices
	seen   []uint32
	total  float64
	groups int // that are left, once they are numbered
}

func computeLouvain(ctx context.Context, j *job) (*answer, error) {
	if err := j.vertices(ctx); err != nil {
		return nil, err
	}
	l, err := j.neighbours(ctx, graph.Both)
	if err != nil {
		return nil, err
	}
	n := len(j.ids)
	result, err := slice[uint32](j, n)
	if err != nil {
		return nil, err
	}
	for v := range result {
		result[v] = uint32(v)
	}
	loops, err := slice[float64](j, n)
	if err != nil {
		return nil, err
	}
	for v := range n {
		for i, u := range l.of(v) {
			if u == uint32(v) {
				loops[v] += 2 * l.weight(v, i)
			}
		}
	}
	c := &communities{lists: l, loops: loops}
	for range j.maxIterations {
		moved, err := c.settle(ctx, j)
		if err != nil {
			return nil, err
		}
		if !moved {
			break
		}
		if err := c.compact(j); err != nil {
			return nil, err
		}
		for v := range result {
			result[v] = c.of[result[v]]
		}
		if c, err = c.merged(ctx, j); err != nil {
			return nil, err
		}
	}
	if err := j.leastOf(result); err != nil {
		return nil, err
	}
	return j.of(column{numbers: result}), nil
}

// weight returns the weight of the i-th edge of a vertex.
func (l *lists) weight(v, i int) float64 {
	if l.weights == nil {
		return 1
	}
	return l.weightsOf(v)[i]
}

// leastOf names groups, which have numbers below those of vertices, by their least vertex.
func (j *job) leastOf(group []uint32) error {
	least, err := slice[uint32](j, len(group)) // plus 1
	if err != nil {
		return err
	}
	for v, g := range group {
		if least[g] == 0 {
			least[g] = uint32(v) + 1
		}
		group[v] = least[g] - 1
	}
	j.release(4 * len(group))
	return nil
}

// begin puts each vertex into a community of its own.
func (c *communities) begin(j *job) (err error) {
	n := len(c.loops)
	if c.of, err = slice[uint32](j, n); err != nil {
		return err
	}
	for _, s := range []*[]float64{&c.own, &c.in, &c.near} {
		if *s, err = slice[float64](j, n); err != nil {
			return err
		}
	}
	for v := range n {
		c.of[v] = uint32(v)
		c.own[v] = c.loops[v]
		for i, u := range c.lists.of(v) {
			if u != uint32(v) {
				c.own[v] += c.lists.weight(v, i)
			}
		}
		c.in[v] = c.own[v]
		c.total += c.own[v]
	}
	return nil
}

// settle moves vertices, one by one, to the community of a neighbour that raises the modularity most, until none can.
func (c *communities) settle(ctx context.Context, j *job) (moved bool, err error) {
	if err := c.begin(j); err != nil || c.total == 0 {
		return false, err
	}
	for again := true; again; {
		again = false
		work := 0
		for v := range c.of {
			if work += len(c.lists.of(v)) + 1; work >= checkEvery {
				work = 0
				if err := j.run.CheckCancel(ctx); err != nil {
					return false, err
				}
			}
			if c.move(v) {
				again, moved = true, true
			}
		}
	}
	return moved, nil
}

// move moves a vertex if that raises the modularity.
func (c *communities) move(v int) bool {
	from := c.of[v]
	c.seen = c.seen[:0]
	for i, u := range c.lists.of(v) {
		if u == uint32(v) {
			continue
		}
		g := c.of[u]
		if c.near[g] == 0 {
			c.seen = append(c.seen, g)
		}
		c.near[g] += c.lists.weight(v, i)
	}
	c.in[from] -= c.own[v]
	gain := func(g uint32) float64 { return c.near[g] - c.own[v]*c.in[g]/c.total }
	best, most := from, gain(from)+leastGain*c.total
	for _, g := range c.seen {
		if x := gain(g); x > most || x == most && g < best {
			best, most = g, x
		}
	}
	for _, g := range c.seen {
		c.near[g] = 0
	}
	c.in[best] += c.own[v]
	c.of[v] = best
	return best != from
}

// compact numbers the communities from 0, in the order of their first vertices.
func (c *communities) compact(j *job) error {
	number, err := slice[uint32](j, len(c.of)) // plus 1
	if err != nil {
		return err
	}
	for v, g := range c.of {
		if number[g] == 0 {
			c.groups++
			number[g] = uint32(c.groups)
		}
		c.of[v] = number[g] - 1
	}
	j.release(4 * len(c.of))
	return nil
}

// merged returns the graph whose vertices are the communities, and releases the memory of this one.
func (c *communities) merged(ctx context.Context, j *job) (*communities, error) {
	if err := j.run.CheckCancel(ctx); err != nil {
		return nil, err
	}
	groups := c.groups
	members, err := c.members(j)
	if err != nil {
		return nil, err
	}
	next := &communities{lists: &lists{}}
	if next.loops, err = slice[float64](j, groups); err != nil {
		return nil, err
	}
	if next.lists.offsets, err = slice[int64](j, groups+1); err != nil {
		return nil, err
	}
	if err := j.acct.Grow(12 * len(c.lists.targets)); err != nil { // which the new lists do not exceed
		return nil, err
	}
	clear(c.near)
	for g := range groups {
		c.seen = c.seen[:0]
		for _, v := range members.of(g) {
			next.loops[g] += c.loops[v]
			for i, u := range c.lists.of(int(v)) {
				switch to := c.of[u]; {
				case u == v:
				case int(to) == g:
					next.loops[g] += c.lists.weight(int(v), i)
				default:
					if c.near[to] == 0 {
						c.seen = append(c.seen, to)
					}
					c.near[to] += c.lists.weight(int(v), i)
				}
			}
		}
		for _, to := range c.seen {
			if c.near[to] > 0 {
				next.lists.targets = append(next.lists.targets, to)
				next.lists.weights = append(next.lists.weights, c.near[to])
				c.near[to] = 0
			}
		}
		next.lists.offsets[g+1] = int64(len(next.lists.targets))
	}
	j.release(12 * (len(c.lists.targets) - len(next.lists.targets)))
	next.lists.held = 8*len(next.lists.offsets) + 12*len(next.lists.targets)
	j.drop(c.lists)
	j.drop(members)
	j.release(36 * len(c.of))
	return next, nil
}

// members lists the vertices of each community.
func (c *communities) members(j *job) (*lists, error) {
	m, groups := &lists{}, c.groups
	var err error
	if m.offsets, err = slice[int64](j, groups+1); err != nil {
		return nil, err
	}
	if m.targets, err = slice[uint32](j, len(c.of)); err != nil {
		return nil, err
	}
	m.held = 8*len(m.offsets) + 4*len(m.targets)
	for _, g := range c.of {
		m.offsets[g+1]++
	}
	for g := range groups {
		m.offsets[g+1] += m.offsets[g]
	}
	at := append([]int64(nil), m.offsets...)
	for v, g := range c.of {
		m.targets[at[g]] = uint32(v)
		at[g]++
	}
	return m, nil
}
