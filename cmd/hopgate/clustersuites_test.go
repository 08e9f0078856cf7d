package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/conformance"
)

// request is what a suite asks of a server.
type request struct {
	method string         // of a fetch; empty: it is a statement
	text   string         // the statement or the fetch
	params map[string]any // of a statement
	read   bool           // it changes nothing, so it may be asked again whatever became of it
	own    bool           // it commits on the way, so it cannot be repeated
	bag    bool           // its rows have no order
	bags   bool           // and nor have the lists in them
}

// suite is a list of cases that run in order on a graph. A case is a sequence of requests. Either the first one empties the graph,
// or all of them read.
type suite struct {
	graph  string
	schema []request
	cases  [][]request
}

// changing finds the words of statements that may write.
var changing = regexp.MustCompile(`(?i)\b(CREATE|INSERT|MERGE|SET|DELETE|REMOVE|DROP|ALTER)\b`)

// statements converts statements to requests.
func statements(texts ...string) (rs []request) {
	for _, text := range texts {
		last := strings.LastIndex(text, "RETURN")
		rs = append(rs, request{
			text: text, read: !changing.MatchString(text), own: strings.Contains(text, "IN TRANSACTIONS"),
			bag: last < 0 || !strings.Contains(text[last:], "ORDER BY"),
		})
	}
	return rs
}

// newCase begins a case.
func newCase(texts ...string) []request {
	return append(statements("MATCH (n) DETACH DELETE n"), statements(texts...)...)
}

// add adds a case, and to it the questions after the graph's state, which shows whether something was done twice.
func (s *suite) add(c []request) {
	s.cases = append(s.cases, append(c, statements("MATCH (n) RETURN n", "MATCH (a)-[r]->(b) RETURN a, r, b")...))
}

// casesIfThere returns the cases of a suite, none if it is nowhere.
func casesIfThere[T any](t *testing.T, s conformance.Suite) []T {
	path, err := s.Path()
	if err != nil {
		t.Log(err)
		return nil
	}
	return conformance.Lines[T](t, path)
}

// cypherCases are the openCypher cases of the tree and those of the conformance suite; short tests use one in sampled of the latter.
func (b *both) cypherCases() [][]request {
	var s suite
	datadriven.Walk(b.t, "../../internal/query/tck/testdata/extra", func(t *testing.T, path string) {
		var c []request
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			switch {
			case d.Cmd == "graph":
				if c != nil {
					s.add(c)
				}
				c = newCase(strings.Split(d.Input, ";")...)
			case !strings.Contains(d.Input, "IN TRANSACTIONS") || !strings.Contains(d.Input, "ON ERROR"):
				c = append(c, statements(d.Input)...)
			}
			return d.Expected
		})
		s.add(c)
	})
	for n, x := range casesIfThere[conformanceCase](b.t, conformance.OpenCypher) {
		if len(x.Procedures) > 0 || testing.Short() && n%sampled != 0 {
			continue
		}
		c, params := newCase(x.Given.Setup...), b.parameters(x.Parameters)
		tested := statements(x.Query)
		for _, then := range x.Then {
			tested = append(tested, statements(then.Query)...)
		}
		for _, r := range tested {
			r.params, r.bags, r.bag = params, x.Expect.ListsUnordered, r.bag || x.Expect.ListsUnordered
			c = append(c, r)
		}
		s.add(c)
	}
	return s.cases
}

// fetchOf returns the request of a fetch.
func fetchOf(method, body string) request {
	return request{method: method, text: body, read: slices.Contains([]string{"get", "head", "gets", "heads"}, method)}
}

// fetchSuite contains the tree's fetches, one case a script; short tests skip every other one.
func (b *both) fetchSuite() (s suite) {
	s.graph = "fetch"
	for _, label := range []string{"User", "Moment", "Comment"} {
		s.schema = append(s.schema, statements("CREATE CONSTRAINT "+label+"_id FOR (n:"+label+") REQUIRE n.id IS UNIQUE")...)
	}
	world := newCase()
	for _, w := range b.smallWorld() {
		r := statements(w.text)[0]
		r.params = w.params
		world = append(world, r)
	}
	scripts := 0
	datadriven.Walk(b.t, "../../internal/query/fetch/testdata/fetch", func(t *testing.T, path string) {
		if scripts++; testing.Short() && scripts%2 == 1 {
			return
		}
		c := slices.Clone(world)
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			c = append(c, fetchOf(d.Cmd, d.Input))
			return d.Expected
		})
		s.add(c)
	})
	return s
}

// tablesSuite are the fetches of APIJSON over its demo tables, which all read, or one in four of them.
func (b *both) tablesSuite() (s suite) {
	s.graph = "tables"
	type fetchCase struct {
		Method  string
		Request json.RawMessage
	}
	for n, x := range casesIfThere[fetchCase](b.t, conformance.APIJSON) {
		if testing.Short() && n%4 != 0 {
			continue
		}
		r := fetchOf(x.Method, string(x.Request))
		require.True(b.t, r.read, r.text)
		s.cases = append(s.cases, []request{r})
	}
	return s
}

// loadTables loads their tables.
func (b *both) loadTables(graphName string) {
	mapping := filepath.Join(filepath.Dir(conformance.APIJSON.Need(b.t)), "mapping.yaml")
	for _, address := range []string{b.one.addrs.GRPC, b.gs[0].grpc} {
		o := run(b.t, []string{"GRAPHCTL_ADDRESS=" + address}, "graphctl", "load", "--graph", graphName, mapping)
		require.Zero(b.t, o.code, "%s%s", o.out, o.err)
	}
}

// said is what a server answers.
type said struct {
	status int
	code   string // of the error, if there is one
	body   any    // decoded and made comparable
}

// send asks a server once.
func (r *request) send(address, graphName string) (a said, err error) {
	path, body := "/v1/query", []byte(r.text)
	if r.method != "" {
		path = "/" + r.method + "?graph=" + graphName
	} else if body, err = json.Marshal(map[string]any{"statement": r.text, "parameters": r.params, "graph": graphName}); err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Prefer", "http-status")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return a, err
	}
	a.status = res.StatusCode
	if r.method != "" {
		a.body = fetchTime.ReplaceAllString(string(text), "")
		return a, nil
	}
	var answer struct {
		Errors []struct{ Code, Type, Phase, Detail string }
		Data   struct {
			Fields []string
			Values []any
		}
		Counters any
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&answer); err != nil {
		return a, err
	}
	if len(answer.Errors) > 0 {
		a.code, a.body = answer.Errors[0].Code, answer.Errors[0]
		if a.status >= http.StatusInternalServerError {
			a.body = string(text)
		}
		return a, nil
	}
	rows, _ := withoutIDs(answer.Data.Values).([]any)
	sortLabels(rows)
	switch {
	case r.bags:
		rows = sortLists(rows)
	case r.bag:
		slices.SortFunc(rows, byText)
	}
	a.body = []any{answer.Data.Fields, rows, answer.Counters}
	return a, nil
}

// sortLabels orders the labels of vertices, which have no order of their own: it is that in which the graph first saw them.
func sortLabels(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			sortLabels(x)
		}
	case map[string]any:
		if labels, ok := v["labels"].([]any); ok {
			slices.SortFunc(labels, byText)
		}
		for _, x := range v {
			sortLabels(x)
		}
	}
}

// unavailable reports that a write did not happen and may be retried.
func (r *request) unavailable(a said) bool {
	if r.method != "" {
		return a.status == http.StatusTooManyRequests
	}
	return a.status == http.StatusServiceUnavailable && a.code == "Neo.TransientError.General.DatabaseUnavailable"
}

// unknown reports whether the outcome of a write is unknown.
func (r *request) unknown(a said) bool {
	return a.status == http.StatusGatewayTimeout && (r.method != "" || a.code == "Neo.DatabaseError.Transaction.TransactionCommitFailed")
}

// errOpen means that a request may or may not have changed the graph, or still may.
var errOpen = errors.New("the outcome is unknown")

// suites runs cases through both gateways of a cluster whose processes are killed meanwhile.
type suites struct {
	*both
	cases, again, unavailable, unknown, broken atomic.Int64 // counts of events
	stopped                                    atomic.Bool  // the test is over, and so are its cases
}

// ask asks a gateway, and the other one if the former is killed, as a client does.
func (s *suites) ask(r *request, graphName string) (said, error) {
	for tries := 0; ; tries++ {
		a, err := r.send(s.gs[rand.IntN(len(s.gs))].http, graphName)
		switch {
		case err != nil: // the gateway was killed, or is not there yet
			s.broken.Add(1)
			if !r.read && !errors.Is(err, syscall.ECONNREFUSED) {
				return a, errOpen
			}
		case !r.read && r.unknown(a):
			s.unknown.Add(1)
			return a, errOpen
		case !r.read && r.unavailable(a):
			s.unavailable.Add(1)
			if r.own {
				return a, errOpen
			}
		default:
			return a, nil
		}
		if tries == 1000 || s.stopped.Load() {
			return a, fmt.Errorf("no answer: %w", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// run runs the cases of a suite, each on a single server and then on the cluster. If the state of the cluster's graph becomes
// unknown, the case restarts on another graph: a request of a killed gateway may still take effect.
func (s *suites) run(u *suite, again *int) error {
	var errs []error
	graphName := u.graph
	for _, c := range u.cases {
		if s.stopped.Load() {
			break
		}
		want := make([]said, len(c))
		for i := range c {
			var err error
			if want[i], err = c[i].send(s.one.addrs.HTTP, u.graph); err != nil {
				return err
			}
		}
		err := s.same(c, want, graphName)
		for errors.Is(err, errOpen) {
			s.again.Add(1)
			*again++
			graphName = fmt.Sprint(u.graph, "x", *again)
			create := statements("CREATE GRAPH " + graphName)[0]
			if _, err = s.ask(&create, "default"); err == nil {
				err = s.same(u.schema, nil, graphName)
			}
			if err == nil {
				err = s.same(c, want, graphName)
			}
		}
		errs = append(errs, err)
		s.cases.Add(1)
	}
	return errors.Join(errs...)
}

// same runs a request on the cluster and compares the answer with want, if any.
func (s *suites) same(c []request, want []said, graphName string) error {
	for i := range c {
		got, err := s.ask(&c[i], graphName)
		if err != nil {
			return fmt.Errorf("%s: %w", c[i].text, err)
		}
		// The counters of the statement that empties the graph show its previous contents.
		if want != nil && (i > 0 || c[i].read) && !reflect.DeepEqual(got, want[i]) {
			return fmt.Errorf("%s %s\ngave %v\nnot  %v\nin %s, in a case of %d requests", c[i].method, c[i].text, got, want[i], graphName, len(c))
		}
	}
	return nil
}

// The suites of openCypher and of fetches run through both gateways of a cluster while all its processes are killed and restarted
// one after another, and another graph is written to. Each case returns the answers and leaves the graph of a single server; no read
// fails; a failed write may be retried or has an unknown outcome; nothing acknowledged is lost, and nothing happens twice. With
// -short, some of the cases run, and each process is killed once; with three replicas, all cases run and only without -short.
func TestClusterSuitesKilled(t *testing.T) {
	for _, replication := range []string{"1", "3"} {
		t.Run("replication="+replication, func(t *testing.T) {
			if replication == "3" && testing.Short() {
				t.Skip("the suites run through replicas without -short")
			}
			suitesKilled(t, newBoth(t, "--replicas", replication))
		})
	}
}

func suitesKilled(t *testing.T, b *both) {
	s := &suites{both: b}
	cypher := b.cypherCases()
	work := []suite{{graph: "cypher0"}, {graph: "cypher1"}, b.fetchSuite(), b.tablesSuite()}
	for i, c := range cypher {
		if !testing.Short() || i%4 < 2 {
			work[i%2].cases = append(work[i%2].cases, c)
		}
	}
	for _, u := range append(work, suite{graph: "writes"}) {
		b.statement("CREATE GRAPH "+u.graph, nil, false)
		for _, r := range u.schema {
			for _, address := range []string{b.one.addrs.HTTP, b.gs[0].http} {
				a, err := r.send(address, u.graph)
				require.NoError(t, err)
				require.Equal(t, http.StatusOK, a.status, r.text)
			}
		}
	}
	if len(work[3].cases) > 0 {
		b.loadTables(work[3].graph)
	}

	killed := make(chan struct{}) // closed when each process was killed
	isClosed := func(c chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	var running sync.WaitGroup
	for i := range work {
		running.Go(func() {
			again := 0
			for first := true; first || len(work[i].cases) > 0 && !isClosed(killed) && !s.stopped.Load(); first = false {
				if err := s.run(&work[i], &again); err != nil && !s.stopped.Load() {
					t.Error(err)
				}
			}
		})
	}
	var acknowledged, next atomic.Int64
	var mu sync.Mutex
	done := map[int64]bool{}
	end := until(1, func(int) {
		id := next.Add(1)
		w := statements(fmt.Sprintf("CREATE (a:N {id: %d})-[:R {id: %d}]->(b:M {id: %d})", id, id, id))[0]
		a, err := s.ask(&w, "writes")
		switch {
		case err == nil && a.status == http.StatusOK:
			acknowledged.Add(1)
			mu.Lock()
			done[id] = true
			mu.Unlock()
		case !errors.Is(err, errOpen) && !s.stopped.Load():
			t.Errorf("a write: %v %v", a, err)
		}
	})
	t.Cleanup(func() { // also if the test fails: nothing outlives it
		s.stopped.Store(true)
		end()
		running.Wait()
	})
	over := make(chan struct{})
	go func() { running.Wait(); close(over) }()
	victims := []*process{b.ss[1], b.gs[0], b.ss[0], b.ss[2], b.gs[1]}
	pace, kills := int64(20), 0 // so many cases between two kills
	if !testing.Short() {
		pace = 60
	}
	for ; !isClosed(over); kills++ {
		if kills == len(victims) {
			close(killed)
			if testing.Short() {
				<-over
				break
			}
		}
		cases, writes := s.cases.Load()+pace, acknowledged.Load()+5
		// However slow the machine is, some work completes between two kills now and then.
		for last, since := int64(-1), time.Now(); (s.cases.Load() < cases || acknowledged.Load() < writes) && !isClosed(over); time.Sleep(10 * time.Millisecond) {
			if n := s.cases.Load() + acknowledged.Load(); n != last {
				last, since = n, time.Now()
			}
			require.Less(t, time.Since(since), patience, "no case and no write ends any more: %d cases, %d writes", s.cases.Load(), acknowledged.Load())
		}
		p := victims[kills%len(victims)]
		p.kill(syscall.SIGKILL)
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
		p.start()
	}
	end()

	for _, g := range b.gs {
		r := statements("MATCH (a:N)-[r:R]->(b:M) WHERE a.id = r.id AND r.id = b.id RETURN a.id, count(*)")[0]
		var a said
		eventually(t, func() bool {
			var err error
			a, err = r.send(g.http, "writes")
			return err == nil && a.status == http.StatusOK
		}, 10*time.Millisecond)
		there := map[int64]bool{}
		for _, row := range a.body.([]any)[1].([]any) {
			var id, n int64
			_, err := fmt.Sscan(fmt.Sprintln(row.([]any)...), &id, &n)
			require.NoError(t, err)
			require.EqualValues(t, 1, n, "write %d was made twice", id)
			there[id] = true
		}
		for id := range done {
			require.True(t, there[id], "write %d was acknowledged and is lost", id)
		}
	}
	for name := range strings.FieldsSeq(b.gs[0].graphctl("query", "-o", "csv", "SHOW GRAPHS YIELD name RETURN name")) {
		if name != "name" {
			require.Contains(t, b.gs[0].graphctl("check", "--graph", name), "nothing is wrong", name)
		}
	}
	t.Logf("%d cases, %d begun again; %d requests unavailable, %d of unknown outcome, %d broken off; %d writes, %d kills",
		s.cases.Load(), s.again.Load(), s.unavailable.Load(), s.unknown.Load(), s.broken.Load(), len(done), kills)
}
