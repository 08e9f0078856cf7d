package query

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
)

// pathModel enumerates the paths of apoc.path.expandConfig one by one, from the text of its filters.
type pathModel struct {
	t                          *testing.T
	tx                         shard.Tx
	types                      map[graph.TypeID]string
	number                     map[graph.VertexID]int64 // the property i
	edge                       map[graph.EdgeID]int64
	labels                     map[int64][]string
	vertex                     map[int64]graph.VertexID
	rels, filters              []string // steps
	late, bfs, filterStart     bool     // late: the sequence begins after the start
	least, most                int
	uniqueness                 string
	ends, stops, allow, refuse []int64
	seen                       map[string]bool
	out                        []string
}

// walk is a path: vertices and the edges between them, by number.
type walk struct{ at, by []int64 }

func (w walk) last() int64 { return w.at[len(w.at)-1] }

func (w walk) text() string { return fmt.Sprintf("[%s, %s]", commas(w.at), commas(w.by)) }

func commas(l []int64) string { return strings.ReplaceAll(fmt.Sprint(l), " ", ", ") }

// adjacent returns the continuations of w by one request.
func (m *pathModel) adjacent(w walk, dir graph.Direction, admit func(typ string, out bool) bool) (next []walk) {
	var res shard.Neighbours
	v := m.vertex[w.last()]
	require.NoError(m.t, m.tx.Expand(context.Background(), &shard.Expand{Sources: []graph.VertexID{v}, Dir: dir, Edges: true}, &res))
	for k, to := range res.Targets {
		out := dir == graph.Out || dir == graph.Both && !res.Reverse[k]
		e := m.edge[res.Edges[k]]
		if !admit(m.types[res.Types[k]], out || to == v) && !(to == v && admit(m.types[res.Types[k]], false)) || len(w.by) > 0 && w.by[len(w.by)-1] == e {
			continue
		}
		next = append(next, walk{append(slices.Clone(w.at), m.number[to]), append(slices.Clone(w.by), e)})
	}
	return next
}

// ways returns the requests of a step, in order: both directions at once where the filter has no directions.
func (m *pathModel) ways(depth int) []func(w walk) []walk {
	steps := m.rels
	if m.late && len(steps) > 1 {
		if depth > 0 {
			steps, depth = steps[1:], depth-1
		} else {
			steps = steps[:1]
		}
	}
	parts := strings.Split(steps[depth%len(steps)], "|")
	admit := func(typ string, out bool) bool {
		return slices.ContainsFunc(parts, func(p string) bool {
			name := strings.Trim(p, "<>")
			in, outward := strings.HasPrefix(p, "<"), strings.HasSuffix(p, ">")
			return (name == "" || name == typ) && (in == outward || out == outward)
		})
	}
	if !strings.ContainsAny(steps[depth%len(steps)], "<>") {
		return []func(w walk) []walk{func(w walk) []walk { return m.adjacent(w, graph.Both, admit) }}
	}
	return []func(w walk) []walk{
		func(w walk) []walk {
			return m.adjacent(w, graph.Out, func(typ string, _ bool) bool { return admit(typ, true) })
		},
		func(w walk) []walk {
			return slices.DeleteFunc(m.adjacent(w, graph.In, func(typ string, _ bool) bool { return admit(typ, false) }),
				func(n walk) bool {
					return n.last() == w.last() && slices.ContainsFunc(m.loopsOut(w, admit), func(o walk) bool { return o.by[len(o.by)-1] == n.by[len(n.by)-1] })
				})
		},
	}
}

func (m *pathModel) loopsOut(w walk, admit func(typ string, out bool) bool) []walk {
	return slices.DeleteFunc(m.adjacent(w, graph.Out, func(typ string, _ bool) bool { return admit(typ, true) }), func(n walk) bool { return n.last() != w.last() })
}

func (m *pathModel) isNew(w walk) bool {
	of, scope, _ := strings.Cut(m.uniqueness, "_")
	list := w.at
	if of == "RELATIONSHIP" {
		list = w.by
	}
	if of == "NONE" || len(list) == 0 {
		return true
	}
	last := list[len(list)-1]
	key := ""
	switch scope {
	case "PATH":
		return !slices.Contains(list[:len(list)-1], last)
	case "LEVEL":
		key = fmt.Sprint(len(w.by), ":")
	}
	key += strconv.FormatInt(last, 10)
	was := m.seen[key]
	m.seen[key] = true
	return !was
}

func (m *pathModel) judge(w walk) (include, on bool) {
	depth, v := len(w.by), w.last()
	start := depth == 0 && !m.filterStart
	wantsEnds := strings.ContainsAny(strings.Join(m.filters, ""), "/>")
	include, on = !wantsEnds, true
	if len(m.filters) > 0 && !start && (depth > 0 || !m.late) {
		at := depth
		if m.late {
			at--
		}
		matches := func(sort string) (some, match bool) {
			for p := range strings.SplitSeq(m.filters[at%len(m.filters)], "|") {
				label, ok := strings.CutPrefix(p, sort)
				if ok && (sort != "" || !strings.ContainsAny(p[:1], "+-/>")) {
					all := true
					for l := range strings.SplitSeq(strings.TrimPrefix(label, ":"), ":") {
						all = all && (l == "*" || slices.Contains(m.labels[v], l))
					}
					some, match = true, match || all
				}
			}
			return some, match
		}
		_, denied := matches("-")
		_, stop := matches("/")
		_, end := matches(">")
		plus, pass := matches("+")
		bare, passBare := matches("")
		switch {
		case denied:
			return false, false
		case stop:
			include, on = true, depth < m.least
		case end:
			include = true
		case (plus || bare) && !pass && !passBare:
			return false, false
		}
	}
	include = include && depth >= m.least
	if len(m.ends)+len(m.stops) > 0 {
		if start || depth < m.least {
			include = false
		} else {
			include = include && (slices.Contains(m.ends, v) || slices.Contains(m.stops, v))
			on = on && !slices.Contains(m.stops, v)
		}
	}
	if !start && (slices.Contains(m.refuse, v) || len(m.allow) > 0 && !slices.Contains(slices.Concat(m.allow, m.ends, m.stops), v)) {
		return false, false
	}
	return include, on && depth < m.most
}

// meet takes a path that is met, and reports whether the search goes on from it.
func (m *pathModel) meet(w walk) bool {
	include, on := m.judge(w)
	if include {
		m.out = append(m.out, w.text())
	}
	return on
}

func (m *pathModel) search(starts []int64) []string {
	m.seen, m.out = map[string]bool{}, nil
	var level []walk
	for _, s := range starts {
		w := walk{at: []int64{s}}
		switch {
		case !m.bfs:
			m.deepen(w)
		case m.isNew(w) && m.meet(w):
			level = append(level, w)
		}
	}
	for depth := 0; len(level) > 0; depth++ {
		slices.SortStableFunc(level, func(a, b walk) int { return int(m.vertex[a.last()]) - int(m.vertex[b.last()]) })
		var next []walk
		for _, way := range m.ways(depth) {
			for _, w := range level {
				for _, n := range way(w) {
					if m.isNew(n) && m.meet(n) {
						next = append(next, n)
					}
				}
			}
		}
		level = next
	}
	return m.out
}

func (m *pathModel) deepen(w walk) {
	if !m.isNew(w) || !m.meet(w) {
		return
	}
	for _, way := range m.ways(len(w.by)) {
		for _, n := range way(w) {
			m.deepen(n)
		}
	}
}

// some returns a list of up to most numbers below n, and often none.
func some(r *rand.Rand, most, n int) (list []int64) {
	for range max(0, r.IntN(2*most)-most+1) {
		list = append(list, r.Int64N(int64(n)))
	}
	return list
}

// TestExpandConfig compares the searches of apoc.path with a model that enumerates paths, on random graphs and configurations.
func TestExpandConfig(t *testing.T) {
	relationships := []string{"", "T", "T>", "<U", "T|U>", "T>|<U", "<", ">|<T", "T>,<U", "T,U>|<T,>", "NONE>,T", "<T>"}
	filters := []string{"", "A", "+A|B", "-A", ">A", "/B", "/B|>A|-C", "A:B|C", "*", "-A:B", "A|B,C|B", "+A,-B", ">A,*", "/*"}
	overStores(t, Options{}, func(t *testing.T, e *Engine) {
		seed := rand.Uint64()
		t.Log("seed", seed)
		r := rand.New(rand.NewPCG(seed, 1))
		n := 3 + r.IntN(8)
		must(t, e, "MATCH (n) DETACH DELETE n")
		for i := range n {
			must(t, e, fmt.Sprintf("CREATE (:N%s {i: %d})", []string{"", ":A", ":B", ":C", ":A:B", ":B:C"}[r.IntN(6)], i))
		}
		for i := range 3 + r.IntN(2*n) {
			must(t, e, fmt.Sprintf("MATCH (a:N {i: %d}), (b:N {i: %d}) CREATE (a)-[:%s {i: %d}]->(b)", r.IntN(n), r.IntN(n), []string{"T", "U", "V"}[i%3], i))
		}
		m := newPathModel(t, e)
		defer m.tx.Rollback()
		for range 150 {
			starts := []int64{r.Int64N(int64(n))}
			if r.IntN(3) == 0 {
				starts = append(starts, r.Int64N(int64(n)))
			}
			rel, label := relationships[r.IntN(len(relationships))], filters[r.IntN(len(filters))]
			m.late, m.bfs, m.filterStart = r.IntN(3) == 0, r.IntN(3) > 0, r.IntN(2) == 0
			m.least, m.most = r.IntN(3), r.IntN(4)
			uniquenesses := []string{"NONE", "NODE_PATH", "RELATIONSHIP_PATH", "NODE_GLOBAL", "RELATIONSHIP_GLOBAL", "NODE_LEVEL", "RELATIONSHIP_LEVEL"}
			m.uniqueness = uniquenesses[r.IntN(len(uniquenesses))]
			m.ends, m.stops, m.allow, m.refuse = some(r, 2, n), some(r, 2, n), some(r, n, n), some(r, 2, n)
			m.rels, m.filters = strings.Split(strings.ReplaceAll(rel, "<T>", "T"), ","), strings.Split(label, ",")
			if label == "" {
				m.filters = nil
			}
			filter := fmt.Sprintf("relationshipFilter: '%s', labelFilter: '%s'", rel, label)
			if label != "" && len(m.rels) == len(m.filters) && r.IntN(2) == 0 {
				filter = "sequence: '" + alternate(m.rels, m.filters, m.late) + "'"
			}
			nodes := func(list []int64) string {
				return fmt.Sprintf("[i IN %s | head([n IN ns WHERE n.i = i])]", commas(list))
			}
			config := fmt.Sprintf("{%s, beginSequenceAtStart: %t, bfs: %t, filterStartNode: %t, minLevel: %d, maxLevel: %d, uniqueness: '%s', "+
				"endNodes: %s, terminatorNodes: %s, allowlistNodes: %s, denylistNodes: %s}", filter, !m.late, m.bfs, m.filterStart, m.least, m.most, m.uniqueness,
				nodes(m.ends), nodes(m.stops), nodes(m.allow), nodes(m.refuse))
			statement := "MATCH (n:N) WITH collect(n) AS ns CALL apoc.path.expandConfig(" + nodes(starts) + ", " + config + ") YIELD path " +
				"RETURN [n IN nodes(path) | n.i] AS n, [r IN relationships(path) | r.i] AS r"
			want := m.search(starts)
			have := must(t, e, statement)
			if strings.HasSuffix(m.uniqueness, "PATH") || m.uniqueness == "NONE" {
				slices.Sort(want) // the order within a level depends on how much is asked for at once
				slices.Sort(have)
			}
			require.Equal(t, strings.Join(want, "\n"), strings.Join(have, "\n"), statement)
		}
	})
}

// alternate returns the sequence of labels and relationships in turn.
func alternate(rels, filters []string, late bool) string {
	first, second := filters, rels
	if late {
		first, second = rels, filters
	}
	var out []string
	for i := range first {
		out = append(out, first[i], second[i])
	}
	return strings.Join(out, ",")
}

func newPathModel(t *testing.T, e *Engine) *pathModel {
	g, err := e.store.Graph(DefaultGraph)
	require.NoError(t, err)
	tx, err := g.Begin(context.Background(), shard.Read)
	require.NoError(t, err)
	m := &pathModel{
		t: t, tx: tx, types: map[graph.TypeID]string{}, number: map[graph.VertexID]int64{}, edge: map[graph.EdgeID]int64{},
		labels: map[int64][]string{}, vertex: map[int64]graph.VertexID{},
	}
	for _, name := range []string{"T", "U", "V"} {
		if id, ok := g.Type(name); ok {
			m.types[id] = name
		}
	}
	for _, row := range must(t, e, "MATCH (n) RETURN id(n), n.i, reduce(t = '', l IN labels(n) | t + l + ' ')") {
		var id, i int64
		var labels string
		_, err := fmt.Sscanf(row, "[%d, %d, %s", &id, &i, &labels)
		require.NoError(t, err, row)
		_, quoted, _ := strings.Cut(row, "'")
		m.number[graph.VertexID(id)], m.vertex[i], m.labels[i] = i, graph.VertexID(id), strings.Fields(strings.TrimSuffix(quoted, "']"))
	}
	for _, row := range must(t, e, "MATCH ()-[r]->() RETURN id(r), r.i") {
		var id, i int64
		_, err := fmt.Sscanf(row, "[%d, %d]", &id, &i)
		require.NoError(t, err, row)
		m.edge[graph.EdgeID(id)] = i
	}
	return m
}

// A search yields its rows as they are asked for, and its paths count against the memory of the statement.
func TestExpandBudget(t *testing.T) {
	e := New(stores["local"](t), Options{QueryBytes: 2 << 20})
	must(t, e, "UNWIND range(1, 30) AS i CREATE (:N {i: i})")
	must(t, e, "MATCH (a:N), (b:N) WHERE a <> b CREATE (a)-[:T]->(b)")
	for _, unique := range []string{"RELATIONSHIP_PATH", "NODE_LEVEL"} {
		call := "MATCH (a:N {i: 1}) CALL apoc.path.expandConfig(a, {relationshipFilter: 'T>', minLevel: 1, uniqueness: '" + unique + "'}) YIELD path "
		require.Equal(t, []string{"[1]", "[1]"}, must(t, e, call+"RETURN length(path) LIMIT 2"))
	}
	_, err := e.rows(Request{Statement: "MATCH (a:N {i: 1}) CALL apoc.path.expandConfig(a, {maxLevel: 8}) YIELD path RETURN count(path)"})
	require.Equal(t, graph.KindBudget, graph.AsError(err).Kind)
	require.ErrorContains(t, err, "PathExpansion")
	require.Equal(t, []string{"[30]"}, must(t, e, "MATCH (a:N {i: 1}) CALL apoc.path.subgraphNodes(a, {}) YIELD node RETURN count(node)"))
}
