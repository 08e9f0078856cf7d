package main_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// copied is an element of a graph as a stream of changes tells it.
type copied struct {
	Labels           []string
	Type, Start, End string
	Properties       map[string]any
}

func (c *copied) String() string {
	text, _ := json.Marshal(c.Properties)
	slices.Sort(c.Labels)
	return fmt.Sprint(c.Labels, c.Type, c.Start, c.End, string(text))
}

// streamCopy is a copy of a graph that only a stream of its changes makes.
type streamCopy struct {
	t        *testing.T
	token    string
	elements map[string]*copied
	txID     int64 // of the last event
	seq      int64
	ended    bool // the transaction of the last event
	// transactions, events and gaps count what has been read.
	transactions, events, gaps int
}

// changed is an event of a stream.
type changed struct {
	Token  string
	ID     string
	TxID   int64 `json:"txId"`
	Seq    int64
	Last   bool
	Errors json.RawMessage
	Event  struct {
		ElementID, Operation, Type string
		Start, End                 struct{ ElementID string }
		State                      struct{ Before, After *copied }
	}
}

// follow reads the stream up to the present. It fails where a process does, and then goes on from its last event.
func (c *streamCopy) follow(address string) error {
	from := c.token
	if from == "" {
		from, c.elements, c.txID = "snapshot", map[string]*copied{}, 0
		c.ended = true
	}
	res, err := http.Get("http://" + address + "/v1/changes?wait=0s&from=" + url.QueryEscape(from))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, 64<<20)
	end := ""
	for in.Scan() {
		var e changed
		if json.Unmarshal(in.Bytes(), &e) != nil {
			return errors.New("the server was killed within a line")
		}
		switch {
		case e.Errors != nil:
			return errors.New(string(e.Errors))
		case e.Token != "":
			end = e.Token
			continue
		}
		end = ""
		if gap := c.apply(&e); gap {
			c.token = ""
			return errors.New("a gap")
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	if end == "" || !c.ended {
		return errors.New("the stream has no end")
	}
	c.token = end
	return nil
}

// apply applies an event, which must fit what there is, and come after the last one.
func (c *streamCopy) apply(e *changed) (gap bool) {
	require.True(c.t, e.TxID > c.txID && e.Seq == 0 && c.ended || e.TxID == c.txID && (e.Seq == c.seq+1 || e.Event.Operation == "r"),
		"after %d.%d (%v): %+v", c.txID, c.seq, c.ended, e)
	c.txID, c.seq, c.ended = e.TxID, e.Seq, e.Last
	id, before, after := e.Event.ElementID, e.Event.State.Before, e.Event.State.After
	was := c.elements[id]
	c.events++
	if e.Last {
		c.transactions++
	}
	switch e.Event.Operation {
	case "g":
		c.gaps++
		return true
	case "c", "r":
		require.Nil(c.t, was, "%+v", e)
		after.Type, after.Start, after.End = e.Event.Type, e.Event.Start.ElementID, e.Event.End.ElementID
		if after.Type != "" {
			require.NotNil(c.t, c.elements[after.Start], "%+v", e)
			require.NotNil(c.t, c.elements[after.End], "%+v", e)
		}
		c.elements[id] = after
	case "u":
		require.NotNil(c.t, was, "%+v", e)
		for name, v := range before.Properties {
			require.Equal(c.t, was.Properties[name], v, "%s: %+v", name, e)
			if _, stays := after.Properties[name]; !stays {
				delete(was.Properties, name)
			}
		}
		maps.Copy(was.Properties, after.Properties)
		for _, l := range before.Labels {
			require.Contains(c.t, was.Labels, l, "%+v", e)
		}
		was.Labels = slices.DeleteFunc(was.Labels, func(l string) bool { return slices.Contains(before.Labels, l) })
		was.Labels = append(was.Labels, after.Labels...)
	case "d":
		require.NotNil(c.t, was, "%+v", e)
		before.Type, before.Start, before.End = was.Type, was.Start, was.End
		require.Equal(c.t, was.String(), before.String(), "%+v", e)
		delete(c.elements, id)
	default:
		c.t.Fatalf("%+v", e)
	}
	if e.TxID > 0 || e.Last {
		c.token = e.ID
	}
	return false
}

// lines are the elements as text.
func (c *streamCopy) lines() (out []string) {
	for id, e := range c.elements {
		out = append(out, id+" "+e.String())
	}
	slices.Sort(out)
	return out
}

// graphAt reads a graph as of a token, in the same form.
func graphAt(address, token string) (out []string, err error) {
	for _, statement := range []string{
		"MATCH (n) RETURN elementId(n), properties(n), labels(n)",
		"MATCH (a)-[r]->(b) RETURN elementId(r), properties(r), type(r), elementId(a), elementId(b)",
	} {
		var answer struct{ Data struct{ Values [][]any } }
		if err := post(address, "USE default AS OF '"+token+"' "+statement, &answer); err != nil {
			return nil, err
		}
		for _, row := range answer.Data.Values {
			e := copied{Properties: row[1].(map[string]any)}
			if len(row) == 3 {
				for _, l := range row[2].([]any) {
					e.Labels = append(e.Labels, l.(string))
				}
			} else {
				e.Type, e.Start, e.End = row[2].(string), row[3].(string), row[4].(string)
			}
			out = append(out, row[0].(string)+" "+e.String())
		}
	}
	slices.Sort(out)
	return out, nil
}

// streamWrite returns a statement.
func streamWrite(r *rand.Rand) string {
	id, other := r.IntN(300), r.IntN(300)
	label := string(rune('A' + r.IntN(4)))
	value := []string{strconv.Itoa(r.IntN(1000)), "'text " + strconv.Itoa(r.IntN(9)) + "'", "true", "[1, 2, 3]", "date('2026-01-02')", "1.5", "null", "point({x: 1, y: 2})"}[r.IntN(8)]
	switch r.IntN(20) {
	case 0, 1, 2:
		return fmt.Sprintf("CREATE (:N:%s {id: %d, v: %s, n: %d})", label, id, value, r.IntN(100))
	case 3, 4, 5:
		return fmt.Sprintf("MATCH (a:N {id: %d}), (b:N {id: %d}) CREATE (a)-[:%s {w: %d}]->(b), (a)-[:%s]->(a)", id, other, label, r.IntN(10), label)
	case 6, 7:
		return fmt.Sprintf("MATCH (n:N {id: %d}) SET n.v = %s, n.x%d = %d", id, value, r.IntN(4), r.IntN(50))
	case 8:
		return fmt.Sprintf("MATCH (n:N {id: %d}) SET n:%s REMOVE n:%s", id, label, string(rune('A'+r.IntN(4))))
	case 9:
		return fmt.Sprintf("MATCH (n:N {id: %d}) DETACH DELETE n", id)
	case 10:
		return fmt.Sprintf("MATCH (:N {id: %d})-[e]->() SET e.w = %s, e.u = %d", id, value, r.IntN(9))
	case 11:
		return fmt.Sprintf("MATCH (:N {id: %d})-[e]->() WITH e LIMIT 1 DELETE e", id)
	case 12:
		return fmt.Sprintf("MERGE (n:N {id: %d}) ON MATCH SET n.n = coalesce(n.n, 0) + 1 ON CREATE SET n.v = %s", id, value)
	case 13:
		return fmt.Sprintf("MATCH (a:N {id: %d}), (b:N {id: %d}) MERGE (a)-[e:%s]->(b) SET e.m = %d", id, other, label, r.IntN(9))
	case 14:
		return fmt.Sprintf("UNWIND range(1, %d) AS i CREATE (a:N:Many {id: i %% 300, n: i})-[:M {i: i}]->(:N:Many {id: (i * 7) %% 300, v: %s})", 1+r.IntN(40), value)
	case 15:
		return fmt.Sprintf("MATCH (n:Many) WITH n LIMIT %d DETACH DELETE n", r.IntN(80))
	case 16:
		return fmt.Sprintf("CREATE (:Brief {id: %d})", id)
	case 17:
		return []string{
			"CREATE INDEX ids IF NOT EXISTS FOR (n:N) ON (n.id)", "CREATE INDEX vs IF NOT EXISTS FOR (n:A) ON (n.v)", "DROP INDEX vs IF EXISTS",
			"ALTER DATABASE default SET OPTION txLogEnrichment 'FULL'", "ALTER DATABASE default SET OPTION txLogEnrichment 'DIFF'",
		}[r.IntN(5)]
	case 18:
		return fmt.Sprintf("MATCH (n:N {id: %d}) SET n = {id: %d, y: %d}", id, other, r.IntN(9))
	}
	return fmt.Sprintf("MATCH (n:%s) WITH n LIMIT 3 SET n.n = coalesce(n.n, 0) + 1, n.t = '%s'", label, strings.Repeat("t", r.IntN(3000)))
}

// The stream of a graph's changes, applied to an empty copy, is the graph as of each of its tokens, and later reads as of these tokens still are,
// while clients write, files are loaded, elements expire, processes are killed, and the graph is restored from a backup and the log that is
// shipped beside. HOPGATE_COMMITS is the number of transactions.
func TestStreamIsGraph(t *testing.T) {
	commits, err := strconv.Atoi(os.Getenv("HOPGATE_COMMITS"))
	if err != nil {
		commits = 160
	}
	single := func(shards string) func(t *testing.T) (all []*process) {
		return func(t *testing.T) []*process {
			p := &process{t: t, http: freeAddress(t), grpc: freeAddress(t), admin: freeAddress(t)}
			p.args = []string{"serve", "--shards", shards, "--data-dir", t.TempDir(), "--http", p.http, "--grpc", p.grpc, "--admin", p.admin, "--bolt", freeAddress(t), "--memory", "256MiB", "--query-timeout", "5m"}
			p.start()
			p.awaitReady()
			return []*process{p}
		}
	}
	for name, open := range map[string]func(t *testing.T) []*process{
		"shards=1": single("1"), "shards=3": single("3"),
		"replicas=3": func(t *testing.T) []*process { ms, _ := startMembers(t, 3); return ms },
	} {
		t.Run(name, func(t *testing.T) { streamIsGraph(t, open(t), commits) })
	}
}

// streamRun compares a copy with a graph that clients write.
type streamRun struct {
	t   *testing.T
	r   *rand.Rand
	all []*process
	// gate is held by each writer for a statement, and by what keeps the writers off.
	gate sync.RWMutex
	copy *streamCopy
	// older is a client that has stored what there was when the graph was backed up.
	older   *streamCopy
	moments []streamMoment
	rows    string // a file to load
	// dest has the backups; a gap since the last one makes that one stale.
	dest  string
	stale bool
	// undone are tokens of commits that a restore has not brought back.
	undone []string
	// kill ends the process that ships the log.
	kill func()

	kills, loads, unlogged, backups, restores, read, lost int
}

// streamMoment is what a graph was as of a token.
type streamMoment struct {
	token string
	lines []string
}

func streamIsGraph(t *testing.T, all []*process, commits int) {
	s := &streamRun{t: t, r: rand.New(rand.NewPCG(uint64(len(all)), uint64(time.Now().UnixNano()))), all: all, copy: &streamCopy{t: t}}
	for _, statement := range []string{"CREATE INDEX ids IF NOT EXISTS FOR (n:N) ON (n.id)", "CREATE LABEL Brief OPTIONS {ttl: duration('PT1S')}"} {
		_, err := ask(all[0].http, statement)
		require.NoError(t, err)
	}
	s.dest, s.rows = filepath.Join(t.TempDir(), "backups"), filepath.Join(t.TempDir(), "rows.csv")
	text := "id:ID(Loaded),n:int\n"
	for i := range 200 {
		text += fmt.Sprintf("%d,%d\n", i, i%7)
	}
	require.NoError(t, os.WriteFile(s.rows, []byte(text), 0o600))
	end := until(3, func(i int) {
		s.gate.RLock()
		defer s.gate.RUnlock()
		r := rand.New(rand.NewPCG(rand.Uint64(), uint64(i)))
		if _, err := ask(all[r.IntN(len(all))].http, streamWrite(r)); err != nil && !unanswered(err) {
			require.NotContains(t, err.Error(), "Neo.DatabaseError", err)
		}
	})
	defer end()
	t.Cleanup(func() { // also of a run that fails
		if s.kill != nil {
			s.kill()
		}
	})
	c := s.copy
	reported := time.Now()
	for c.transactions < commits || s.restores == 0 {
		for next := c.transactions + max(15, commits/200); c.transactions < next; time.Sleep(10 * time.Millisecond) {
			s.retry(c.follow)
		}
		switch done := float64(c.transactions) / float64(commits); {
		case s.backups == 0 && done > 0.2 || s.backups > 0 && s.r.IntN(60) == 0:
			s.backup()
		case s.backups > 0 && (s.restores == 0 && done > 0.6 || s.r.IntN(25) == 0):
			s.restore()
		case s.r.IntN(6) == 0:
			[]func(){s.crash, s.load}[s.r.IntN(2)]()
		}
		s.retry(c.follow)
		s.compare()
		if time.Since(reported) > time.Minute { // of a long run that is ended, it tells how far it came
			reported = time.Now()
			s.log()
		}
	}
	s.refuse()
	require.Less(t, s.lost, s.read/2)
	s.log()
}

// log tells what was done.
func (s *streamRun) log() {
	c := s.copy
	s.t.Logf("%d transactions, %d events, %d gaps, %d kills, %d loads, %d backups, %d restores, %d elements, %d reads of the past, %d of them too far", c.transactions,
		c.events, c.gaps, s.kills, s.loads, s.backups, s.restores, len(c.elements), s.read, s.lost)
}

// any returns a process.
func (s *streamRun) any() *process { return s.all[s.r.IntN(len(s.all))] }

// retry repeats what may fail because a process was killed.
func (s *streamRun) retry(what func(address string) error) {
	s.t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := what(s.any().http)
		if err == nil {
			return
		}
		require.NotContains(s.t, err.Error(), "json")
		require.True(s.t, unanswered(err) || strings.Contains(err.Error(), "Neo.TransientError"), err)
		require.Less(s.t, time.Since(began), patience, err)
	}
}

// graphctl runs the client against any process, until it succeeds.
func (s *streamRun) graphctl(args ...string) string {
	var o outcome
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if o = run(s.t, []string{"GRAPHCTL_ADDRESS=" + s.any().grpc}, "graphctl", args...); o.code == 0 {
			return o.out + o.err
		}
		require.Less(s.t, time.Since(began), patience, "%q: %s%s", args, o.out, o.err)
	}
}

// crash kills a process.
func (s *streamRun) crash() {
	victim := s.any()
	victim.kill(syscall.SIGKILL)
	time.Sleep(time.Duration(s.r.IntN(300)) * time.Millisecond)
	victim.start()
	victim.awaitReady()
	s.kills++
}

// load loads a file, which may stay out of the log.
func (s *streamRun) load() {
	args := []string{"load", "--address", s.any().grpc, "--nodes", "Loaded=" + s.rows}
	if s.r.IntN(3) == 0 {
		args = append(args, "--no-log")
		s.unlogged++
		s.stale = true
	}
	if o := run(s.t, nil, "graphctl", args...); o.code == 0 {
		s.loads++
	} else {
		require.Contains(s.t, o.err, "Neo.TransientError")
	}
}

// backup backs up the graph. From the first time on, its log is shipped as well.
func (s *streamRun) backup() {
	older := *s.copy
	older.elements = make(map[string]*copied, len(s.copy.elements))
	for id, e := range s.copy.elements {
		c := *e
		c.Labels, c.Properties = slices.Clone(e.Labels), maps.Clone(e.Properties)
		older.elements[id] = &c
	}
	s.graphctl("backup", s.dest)
	s.older, s.stale = &older, false
	s.backups++
	if s.kill == nil {
		s.kill = ship(s.t, s.dest, s.any().grpc, 100*time.Millisecond)
	}
}

// restore loses all processes with their data, perhaps in the middle of writes, and restores the graph to the moment of the copy, or to all that
// was shipped since.
func (s *streamRun) restore() {
	if s.stale { // nothing crosses a gap
		s.backup()
	}
	still := s.r.IntN(2) == 0
	if still {
		s.gate.Lock()
	}
	s.retry(s.copy.follow)
	to := "latest"
	if s.r.IntN(2) == 0 {
		to = s.copy.token
		s.retry(func(address string) error { _, err := ask(address, "CREATE (:Undone)"); return err })
		s.undone = append(s.undone, strings.Fields(s.graphctl("query", "-o", "csv", "CALL db.cdc.current() YIELD id RETURN id"))[1])
	}
	require.NotContains(s.t, s.graphctl("backup", "--log", s.dest, "--once"), "ChangeLogGap")
	for _, p := range s.all {
		p.signal(syscall.SIGKILL)
	}
	for _, p := range s.all {
		<-p.ended
	}
	s.kill()
	if !still {
		s.gate.Lock()
	}
	defer s.gate.Unlock()
	more := []string{"--to", to}
	if len(s.all) > 1 {
		more = append(more, "--replicas", strconv.Itoa(len(s.all)))
	}
	for i, dir := range restored(s.t, s.dest, len(s.all), more...) {
		p := s.all[i]
		data := &p.args[slices.Index(p.args, "--data-dir")+1]
		require.NoError(s.t, os.RemoveAll(*data))
		*data = dir
		p.start()
	}
	for _, p := range s.all {
		p.awaitReady()
	}
	s.kill = ship(s.t, s.dest, s.any().grpc, 100*time.Millisecond)
	s.restores++
	// Those who go on from the backup, and from now, come to the same; each moment is what it was.
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		s.retry(s.copy.follow)
		s.retry(s.older.follow)
		if slices.Equal(s.copy.lines(), s.older.lines()) {
			break
		}
		require.Less(s.t, time.Since(began), patience, "the streams from the backup and from now differ")
	}
	for _, m := range slices.Clone(s.moments) {
		s.readPast(m)
	}
	s.refuse()
}

// refuse checks that no stream goes on from a commit that was undone, even where the graph has another one of its number by now.
func (s *streamRun) refuse() {
	for _, token := range s.undone {
		s.retry(func(address string) error {
			text, err := get("http://" + address + "/v1/changes?wait=0s&from=" + url.QueryEscape(token))
			require.Error(s.t, err, "the stream goes on from a commit that was undone: %s", text)
			if strings.Contains(err.Error(), "TokenOfOtherHistory") {
				return nil
			}
			return err
		})
	}
}

// compare compares the copy, and an earlier one, with what the graph was.
func (s *streamRun) compare() {
	now := streamMoment{s.copy.token, s.copy.lines()}
	s.moments = append(s.moments, now)
	if len(s.moments) > 20 {
		i := s.r.IntN(len(s.moments))
		s.moments = slices.Delete(s.moments, i, i+1)
	}
	s.readPast(now)
	s.readPast(s.moments[s.r.IntN(len(s.moments))])
}

// readPast reads the graph as of a moment.
func (s *streamRun) readPast(m streamMoment) {
	s.read++
	s.retry(func(address string) error {
		got, err := graphAt(address, m.token)
		switch {
		case err == nil:
			require.Equal(s.t, m.lines, got)
		case strings.Contains(err.Error(), "ChangeLogGap") && s.unlogged > 0, strings.Contains(err.Error(), "PastTooLarge"):
			s.moments = slices.DeleteFunc(s.moments, func(o streamMoment) bool { return o.token == m.token })
			s.lost++
			return nil
		}
		return err
	})
}
