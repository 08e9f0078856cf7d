package tck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/oracle"
	"github.com/hopgate/hopgate/internal/oracle/naive"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/query/cypher"
	"github.com/hopgate/hopgate/internal/query/cypher/ast"
	"github.com/hopgate/hopgate/internal/query/cypher/parse"
	"github.com/hopgate/hopgate/internal/query/plan/optimize"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// ofGraph is how many statements that read the fuzzer asks of one graph, before one that writes and one that calls what writes.
const ofGraph = 9

// TestStatements runs random statements on random graphs, with and without indexes, and compares their answers and effects with the
// naive evaluator: over one shard and three, in batches of 1, 3 and 1,024 rows, with all of the optimizer's rules, without each and
// without any, and with properties(n).p for n.p. HOPGATE_SEEDS is the number of graphs; each has eleven statements. The test reduces a failing case and writes it to
// testdata/regress with the right answer.
func TestStatements(t *testing.T) {
	seeds, first := 300, 0
	if testing.Short() {
		seeds = 40
	}
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		seeds = n
	}
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_FIRST_SEED")); err == nil {
		first = n
	}
	var next, judged, failed atomic.Int64
	next.Store(int64(first))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for failed.Load() < 12 {
				seed := next.Add(1) - 1
				if seed >= int64(first+seeds) {
					return
				}
				cases := casesOf(uint64(seed))
				for _, c := range cases {
					want, ok := c.right()
					if !ok {
						continue
					}
					judged.Add(1)
					if c.agree(want) {
						continue
					}
					failed.Add(1)
					c.smaller()
					t.Errorf("seed %d: %s\n%s", seed, c.save(seed), c.report())
				}
				cases[0].seen.close()
			}
		})
	}
	wg.Wait()
	t.Logf("%d statements of %d graphs, %d scans by indexes of rules", judged.Load(), seeds, byRules.Load())
	if seeds >= 40 && byRules.Load() == 0 {
		t.Error("no statement scans by an index of what rules compare")
	}
	if judged.Load() < int64(seeds)*ofGraph/2 && failed.Load() == 0 {
		t.Errorf("the naive evaluator knew only %d statements", judged.Load())
	}
}

// fuzzCase is a statement on a graph.
type fuzzCase struct {
	setup, text string
	other       int // if above 0, the seed of other literals for the statement, which runs with them first
	ordered     bool
	bags        map[string]bool // columns of lists in any order
	index       []graph.Index
	settings    []fuzzSetting
	seen        *twins
}

// fuzzSetting is a setting, on the real store instead of the oracle's if stored is set. If cached is set, the whole engine with
// its cache of plans runs the statement, after the one that differs from it in literals. If spelled is set, the statement asks
// for properties(n).p where it has n.p. If ruled is set, its caller sees a part of a larger graph, see rule; and if let is
// set, a part that indexes find, see let.
type fuzzSetting struct {
	setting
	stored, cached, spelled, ruled, let bool
}

// graph names the graph that settings share.
func (s fuzzSetting) graph() string { return fmt.Sprint(s.shards, s.stored, s.ruled, s.let) }

var (
	propertyOf = regexp.MustCompile(`\b([ve]\d+)\.(x|s|f|d|t|l|b|v|id|w)\b`)
	writes     = regexp.MustCompile(`\b(CREATE|MERGE|SET|REMOVE|DELETE)\b`)
)

// spelled returns a statement that reads with properties(n).p instead of n.p, which means the same.
func spelled(text string) string {
	if writes.MatchString(text) {
		return text
	}
	return propertyOf.ReplaceAllString(text, "properties($1).$2")
}

// twins are graphs made by the same setup, which statements that read share.
type twins struct {
	naive   *naive.Graph
	engines map[string]*engine
	stores  []*local.Store
}

func (w *twins) close() {
	for _, s := range w.stores {
		_ = s.Close()
	}
}

func casesOf(seed uint64) []*fuzzCase {
	r := rand.New(rand.NewPCG(seed, 31))
	g := &grammar{r: r}
	setup := g.graph()
	var index []graph.Index
	for _, p := range [][]string{{"x"}, {"s"}, {"id"}, {"x", "s"}, {"d"}, {"t"}, {"f"}, {"v"}} {
		if key := p[0] == "id"; key && g.chance(40) {
			index = append(index, graph.Index{Label: g.pick("A", "A", "B"), Props: p, Indexed: true, Unique: g.chance(70)})
		} else if !key && g.chance(15) {
			index = append(index, graph.Index{Label: g.pick("A", "B", "C"), Props: p, Indexed: true})
		}
	}
	if g.chance(15) {
		index = append(index, graph.Index{Type: g.pick("T", "U"), Props: []string{"w"}, Indexed: true})
	}
	shared := &twins{engines: map[string]*engine{}}
	var out []*fuzzCase
	for i := range ofGraph + 2 {
		c := &fuzzCase{setup: setup, index: index}
		g := &grammar{r: r}
		if i < ofGraph {
			c.text, c.ordered = g.query()
			c.seen = shared
		} else {
			if c.text = g.calls(); i == ofGraph {
				c.text = g.update()
			}
			c.index = slices.Clone(index)
			for k := range c.index {
				c.index[k].Unique = false // several vertices may get one id
			}
		}
		c.bags = g.bags
		if i < ofGraph || !strings.Contains(c.text, "ORDER BY") { // results of the first run have no ids to order by
			c.other = r.IntN(4)
		}
		batches, off := []int{1, 3, 1024}, append(each(optimize.Rules()), optimize.Rules(), nil, nil)
		stored := seed%8 == 0
		c.settings = []fuzzSetting{
			{setting: setting{shards: 1, batch: batches[r.IntN(3)], parallel: seed%2 == 0}, stored: stored},
			{setting: setting{shards: 3, batch: batches[r.IntN(3)], disable: off[r.IntN(len(off))], parallel: seed%3 == 0}, stored: stored},
		}
		if i%3 == 0 && spelled(c.text) != c.text {
			c.settings = append(c.settings, fuzzSetting{setting: setting{shards: 1, batch: batches[r.IntN(3)]}, stored: stored, spelled: true})
		}
		if c.other > 0 {
			c.settings = append(c.settings, fuzzSetting{setting: setting{shards: 1}, stored: stored, cached: true})
		}
		c.settings = append(c.settings, fuzzSetting{setting: setting{shards: 1 + i%3, batch: batches[(i+int(seed))%3]}, stored: stored, ruled: true})
		if c.other > 0 {
			c.settings = append(c.settings, fuzzSetting{setting: setting{shards: 1}, ruled: true, cached: true})
		}
		if c.seen != nil {
			c.settings = append(c.settings, fuzzSetting{setting: setting{shards: 1 + (i+1)%3, batch: batches[i%3]}, stored: stored, let: true})
		}
		out = append(out, c)
	}
	return out
}

// before returns the statement with other literals; "" if none is wanted.
func (c *fuzzCase) before() string {
	if c.other == 0 {
		return ""
	}
	var b strings.Builder
	at := 0
	for _, l := range parse.Literals(c.text, cypher.IsLiteralName, nil) {
		b.WriteString(c.text[at:l.Start])
		at = l.End
		switch s := c.text[l.Start:l.End]; {
		case l.Value.Kind() == graph.Int && l.Value.Int() < 4:
			fmt.Fprint(&b, (l.Value.Int()+int64(c.other))%4)
		case l.Value.Kind() == graph.Float:
			b.WriteString([]string{"0.5", "1.0", "2.25", s}[c.other])
		case l.Value.Kind() == graph.String && !strings.Contains(s, "-"):
			b.WriteString([]string{"'b'", "'ab'", "'a'", s}[c.other])
		default:
			b.WriteString(s)
		}
	}
	return b.String() + c.text[at:]
}

// answerOf is an outcome in one form: the rows, and for a statement that writes, the graph and the counters.
func (c *fuzzCase) answerOf(columns []string, rows [][]any) string {
	var lines []string
	for _, row := range rows {
		for i, cell := range row {
			row[i] = rounded(cell, c.bags[columns[i]])
		}
		lines = append(lines, show(row))
	}
	if !c.ordered {
		sort.Strings(lines)
	}
	return strings.Join(lines, "\n")
}

// rounded rounds floats, and sorts lists if they have no order.
func rounded(v any, bag bool) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = rounded(v[i], bag)
		}
		if bag {
			slices.SortFunc(out, func(a, b any) int { return strings.Compare(show(a), show(b)) })
		}
		return out
	case float64:
		f, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
		return f
	}
	return v
}

// right is what the naive evaluator answers; ok is false if the statement has no right answer that it knows.
func (c *fuzzCase) right() (want string, ok bool) {
	s, err := parse.Statement(c.text)
	if err != nil {
		return "", false
	}
	if _, _, err := cypher.Compile(c.text, cypher.Options{}); err != nil {
		if os.Getenv("HOPGATE_REFUSED") != "" {
			fmt.Println("refused:", err, strings.ReplaceAll(c.text, "\n", " "))
		}
		return "", false
	}
	if again := ast.Format(s); !sameTree(s, again) {
		return "prints as another tree: " + again, true
	}
	g := c.naive()
	if g == nil {
		return "", false
	}
	if c.seen == nil && c.other > 0 {
		before, err := parse.Statement(c.before())
		if err != nil {
			return "", false
		}
		if _, err := g.Run(before); err != nil {
			return "", false
		}
	}
	g.NodesCreated, g.NodesDeleted, g.RelsCreated, g.RelsDeleted = 0, 0, 0, 0
	res, err := g.Run(s)
	if errors.Is(err, naive.ErrUnknown) {
		return "", false
	}
	if err != nil {
		if errors.Is(err, naive.ErrSure) || strings.Contains(err.Error(), "has relationships") {
			return "error", true
		}
		return "", false
	}
	rows := make([][]any, len(res.Rows))
	for i, r := range res.Rows {
		for _, cell := range r {
			rows[i] = append(rows[i], ofNaive(cell))
		}
	}
	want = c.answerOf(res.Columns, rows)
	if c.seen == nil {
		var lines []string
		for _, n := range g.Nodes {
			lines = append(lines, show(ofNaive(n)))
		}
		for _, r := range g.Rels {
			lines = append(lines, show([]any{ofNaive(r.Src), ofNaive(r), ofNaive(r.Dst)}))
		}
		sort.Strings(lines)
		want += fmt.Sprintf("\n%d %d %d %d\n", g.NodesCreated, g.NodesDeleted, g.RelsCreated, g.RelsDeleted) + strings.Join(lines, "\n")
	}
	return want, true
}

func (c *fuzzCase) naive() *naive.Graph {
	if c.seen != nil && c.seen.naive != nil {
		return c.seen.naive
	}
	s, err := parse.Statement(c.setup)
	if err != nil {
		return nil
	}
	g := &naive.Graph{}
	if _, err := g.Run(s); err != nil {
		return nil
	}
	if c.seen != nil {
		c.seen.naive = g
	}
	return g
}

func ofNaive(v any) any {
	switch v := v.(type) {
	case naive.Date:
		return v.Format("2006-01-02")
	case naive.LocalTime:
		return v.String()
	case naive.Duration:
		return v.String()
	case naive.Vector:
		return v.String()
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = ofNaive(v[i])
		}
		return out
	case *naive.Node:
		return &node{labels: append([]string{}, v.Labels...), props: ofProps(v.Props)}
	case *naive.Rel:
		return &rel{typ: v.Type, props: ofProps(v.Props)}
	case *naive.Path:
		p := &path{elements: []any{ofNaive(v.Nodes[0])}}
		for i, r := range v.Rels {
			forward := -1
			switch {
			case r.Src == r.Dst:
				forward = 0
			case r.Src == v.Nodes[i]:
				forward = 1
			}
			p.elements, p.forward = append(p.elements, ofNaive(r), ofNaive(v.Nodes[i+1])), append(p.forward, forward)
		}
		return p
	}
	return v
}

func ofProps(in map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range in {
		out[k] = ofNaive(v)
	}
	return out
}

// got is what the engine answers.
func (c *fuzzCase) got(s fuzzSetting) (out string) {
	name := s.graph()
	var e *engine
	if c.seen != nil {
		e = c.seen.engines[name]
	}
	if e == nil {
		var store shard.Store = oracle.New(s.shards)
		if s.stored {
			disk, err := local.Open(local.Options{Dir: "data", FS: vfs.NewMem(), Shards: s.shards})
			if err != nil {
				return err.Error()
			}
			if c.seen == nil {
				defer disk.Close()
			} else {
				c.seen.stores = append(c.seen.stores, disk)
			}
			store = disk
		} else if err := store.CreateGraph(context.Background(), query.DefaultGraph); err != nil {
			return err.Error()
		}
		store = restricted.NewStore(store)
		g, err := store.Graph(query.DefaultGraph)
		if err != nil {
			return err.Error()
		}
		e = &engine{setting: s.setting, g: g, whole: query.New(store, query.Options{})}
		if err := c.prepare(e); err != nil {
			return "setup: " + describe(err)
		}
		if s.ruled {
			if err := e.rule(strings.Contains(c.text, "DELETE")); err != nil {
				return "rules: " + describe(err)
			}
		}
		if s.let {
			if err := e.let(); err != nil {
				return "rules: " + describe(err)
			}
		}
		if c.seen != nil {
			c.seen.engines[name] = e
		}
	}
	e.setting = s.setting
	run := func(text string) (*answer, error) { return e.run(text, nil) }
	if s.cached {
		run = e.cached
	}
	text := c.text
	if s.spelled {
		text = spelled(text)
	}
	if c.other > 0 && (s.cached || c.seen == nil) {
		if _, err := run(c.before()); err != nil && c.seen == nil {
			return notJudged // other literals may make a statement fail
		}
	}
	a, err := run(text)
	if err != nil {
		return "error " + describe(err)
	}
	out = c.answerOf(a.columns, a.rows)
	if c.seen != nil {
		return out
	}
	var lines []string
	for _, q := range []string{"MATCH (n) RETURN n", "MATCH (a)-[r]->(b) RETURN a, r, b"} {
		after, err := e.run(q, nil)
		if err != nil {
			return describe(err)
		}
		for _, row := range after.rows {
			if len(row) == 1 {
				lines = append(lines, show(row[0]))
			} else {
				lines = append(lines, show(row))
			}
		}
	}
	sort.Strings(lines)
	x := a.counters
	return out + fmt.Sprintf("\n%d %d %d %d\n", x.NodesCreated, x.NodesDeleted, x.RelationshipsCreated, x.RelationshipsDeleted) + strings.Join(lines, "\n")
}

// prepare makes the graph and the indexes of a case.
func (c *fuzzCase) prepare(e *engine) error {
	if _, err := e.run(c.setup, nil); err != nil {
		return err
	}
	for i, ix := range c.index {
		ix.Name = fmt.Sprint("i", i)
		if err := e.g.CreateIndex(context.Background(), ix); err != nil {
			return err
		}
	}
	return nil
}

func (c *fuzzCase) agree(want string) bool {
	for _, s := range c.settings {
		if !c.matches(c.got(s), want) {
			return false
		}
	}
	return true
}

// notJudged is the outcome of a statement that was not run.
const notJudged = "not judged"

// matches reports whether an outcome is the right one, which may be any error. Whether a deleted element is read at all may depend
// on the order in which conditions are tested.
func (c *fuzzCase) matches(got, want string) bool {
	return got == want || got == notJudged || want == "error" && strings.HasPrefix(got, "error ") ||
		strings.Contains(c.text, "DELETE") && strings.Contains(got, "DeletedEntityAccess")
}

// smaller shrinks the case as long as it still fails in the same way: with an error, or without.
func (c *fuzzCase) smaller() {
	shared := c.seen != nil
	bad := func(x fuzzCase) bool {
		x.seen = nil
		if shared {
			x.seen = &twins{engines: map[string]*engine{}}
		}
		if _, _, err := cypher.Compile(x.setup, cypher.Options{}); err != nil {
			return false
		}
		want, ok := x.right()
		if !ok {
			return false
		}
		for _, s := range x.settings {
			got := x.got(s)
			if strings.Contains(got, "compile time") || strings.HasPrefix(got, "error SyntaxError") || strings.HasPrefix(got, "setup") || strings.HasPrefix(got, "error ParameterMissing") {
				return false
			}
			if !x.matches(got, want) {
				return true
			}
		}
		return false
	}
	if !bad(*c) {
		return
	}
	for _, s := range c.settings {
		x := *c
		x.settings = []fuzzSetting{s}
		if bad(x) {
			c.settings = x.settings
			break
		}
	}
	x := *c
	few := [][]graph.Index{nil}
	for _, index := range c.index {
		few = append(few, []graph.Index{index})
	}
	for _, index := range few {
		if x.index = index; bad(x) {
			c.index = index
			break
		}
	}
	if x = *c; x.other > 0 {
		if x.other = 0; bad(x) {
			c.other = 0
		}
	}
	c.text = shrink(c.text, func(text string) bool { x := *c; x.text = text; return bad(x) })
	c.setup = shrink(c.setup, func(text string) bool { x := *c; x.setup = text; return bad(x) })
	if shared {
		c.seen = &twins{engines: map[string]*engine{}}
	}
}

func (c *fuzzCase) report() string {
	want, _ := c.right()
	s := fmt.Sprintf("%s\nbefore: %s\n%s\nindexes %v\nwant\n%s", c.setup, c.before(), c.text, c.index, want)
	for _, x := range c.settings {
		if got := c.got(x); !c.matches(got, want) {
			s += fmt.Sprintf("\ngot (%+v)\n%s", x, got)
		}
	}
	return s
}

// sameTree reports whether a text parses to a tree, places and source texts aside.
func sameTree(s *ast.Statement, text string) bool {
	again, err := parse.Statement(text)
	return err == nil && alike(reflect.ValueOf(s), reflect.ValueOf(again))
}

func alike(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Interface:
		return a.IsNil() == b.IsNil() && (a.IsNil() || alike(a.Elem(), b.Elem()))
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !alike(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			f := a.Type().Field(i)
			if f.Type != reflect.TypeFor[graph.Pos]() && f.Name != "Text" && !alike(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}
