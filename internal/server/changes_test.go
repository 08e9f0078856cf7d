package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/query"
	"github.com/hopgate/hopgate/internal/shard/local"
)

// serveLogged serves a store of two shards in a directory, which keeps a commit log, until stop.
func serveLogged(t *testing.T, dir string) (r *running, stop func()) {
	store, err := local.Open(local.Options{Dir: dir, Shards: 2, LogBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	r = serveOver(t, store, query.Options{}, Options{})
	return r, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		http.DefaultClient.CloseIdleConnections() // which Drain would wait for
		r.Drain(ctx)
		require.NoError(t, store.Close())
	}
}

// run runs statements.
func (r *running) run(t testing.TB, statements ...string) {
	for _, s := range statements {
		_, err := r.query(context.Background(), &pb.QueryRequest{Statement: s})
		require.NoError(t, err, s)
	}
}

// line is a line of an answer, or the data of a server-sent event.
type line struct {
	ID, Token string
	TxID, Seq int64
	Last      bool
	Event     struct {
		ElementID, Operation string
	}
	Errors []struct{ Code, Detail string }
	text   string
}

// changesReader is an open stream.
type changesReader struct {
	t testing.TB
	*http.Response
	in *bufio.Reader
}

// follow opens a stream over HTTP; media is that of Accept.
func (r *running) follow(t testing.TB, media, query string, header ...string) *changesReader {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.addrs.HTTP+"/v1/changes?"+query, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Accept", media)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return &changesReader{t, res, bufio.NewReader(res.Body)}
}

// next returns the next line; io.EOF at the end.
func (c *changesReader) next() (l line, err error) {
	text, err := c.in.ReadString('\n')
	if err != nil {
		return l, err
	}
	require.NoError(c.t, json.Unmarshal([]byte(text), &l), text)
	l.text = text
	return l, nil
}

// events returns the next n events.
func (c *changesReader) events(n int) (out []line) {
	for len(out) < n {
		l, err := c.next()
		require.NoError(c.t, err)
		require.Empty(c.t, l.Errors, l.text)
		if l.ID != "" {
			out = append(out, l)
		}
	}
	return out
}

// rest returns all events up to the end, and the last line.
func (c *changesReader) rest() (out []line, last line) {
	for {
		l, err := c.next()
		if errors.Is(err, io.EOF) {
			return out, last
		}
		require.NoError(c.t, err)
		if last = l; l.ID != "" {
			out = append(out, l)
		}
	}
}

// From any event on, within a transaction too, another stream gives what follows, and no more: before and after the server starts again.
func TestChangesResume(t *testing.T) {
	dir := t.TempDir()
	r, stop := serveLogged(t, dir)
	first := r.follow(t, "application/x-ndjson", "wait=0s")
	_, end := first.rest()
	r.run(t, "UNWIND range(1, 5) AS i CREATE (:A {i: i})", "MATCH (a:A {i: 1}), (b:A {i: 2}) CREATE (a)-[:R {x: 1}]->(b) SET b.y = 'é'", "MATCH (a:A {i: 3}) DELETE a")
	ask := func(from string) []line {
		res := r.follow(t, "application/x-ndjson", "wait=0s&from="+from)
		require.Equal(t, "application/x-ndjson", res.Header.Get("Content-Type"))
		begin, err := res.next()
		require.NoError(t, err)
		require.NotEmpty(t, begin.Token)
		all, last := res.rest()
		require.NotEmpty(t, last.Token)
		if len(all) > 0 {
			require.Equal(t, all[len(all)-1].ID, last.Token)
		}
		return all
	}
	all := ask(end.Token)
	ops := ""
	for _, l := range all {
		ops += l.Event.Operation
		if l.Last {
			ops += " "
		}
	}
	require.Equal(t, "ccccc uc d ", ops)
	for restarted := range 2 {
		for i, l := range all {
			require.Equal(t, all[i+1:], append([]line{}, ask(l.ID)...), "%d after event %d", restarted, i)
		}
		stop()
		r, stop = serveLogged(t, dir)
	}
	r.run(t, "CREATE (:B)")
	more := ask(all[len(all)-1].ID)
	require.Len(t, more, 1)
	require.Greater(t, more[0].TxID, all[len(all)-1].TxID)

	// A consumer of snapshot gets the graph, and then what follows.
	res := r.follow(t, "application/x-ndjson", "from=snapshot")
	snapshot := res.events(6)
	require.True(t, snapshot[5].Last)
	r.run(t, "CREATE (:C)")
	require.Equal(t, "c", res.events(1)[0].Event.Operation)
	stop()
}

// A slow reader keeps no writer waiting, and gets everything in the end.
func TestChangesSlowReader(t *testing.T) {
	r, stop := serveLogged(t, t.TempDir())
	defer stop()
	res := r.follow(t, "application/x-ndjson", "")
	const rows = 20_000
	for range 4 {
		r.run(t, fmt.Sprintf("UNWIND range(1, %d) AS i CREATE (:A {text: '%s'})", rows/4, strings.Repeat("x", 1000))) // more than any socket's buffer
	}
	seen := map[string]bool{}
	for _, l := range res.events(rows) {
		seen[l.Event.ElementID] = true
	}
	require.Len(t, seen, rows)
	_ = res.Body.Close()
	_, body := get(t, "http://"+r.addrs.Admin+"/metrics")
	require.Regexp(t, `hopgate_change_events_total{transport="http"} 20000\n`, body)
	require.Eventually(t, func() bool {
		_, body := get(t, "http://"+r.addrs.Admin+"/metrics")
		return strings.Contains(body, `hopgate_change_streams{transport="http"} 0`)
	}, time.Minute, 10*time.Millisecond)
}

// A draining server ends its streams in good order: over HTTP with the token to continue from, over gRPC with a status that asks to call again.
func TestChangesDrain(t *testing.T) {
	r, stop := serveLogged(t, t.TempDir())
	lines, sent := r.follow(t, "application/x-ndjson", ""), r.follow(t, "text/event-stream", "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func(ctx context.Context) pb.GraphService_ChangesClient {
		s, err := pb.NewGraphServiceClient(r.conn).Changes(ctx, &pb.ChangesRequest{})
		require.NoError(t, err)
		first, err := s.Recv()
		require.NoError(t, err)
		require.NotEmpty(t, first.GetToken())
		require.Empty(t, first.GetEvents())
		return s
	}
	ends, left := open(t.Context()), open(ctx)
	r.run(t, "CREATE (:A)")
	cancel()
	for _, err := left.Recv(); status.Code(err) != codes.Canceled; _, err = left.Recv() {
		require.NoError(t, err)
	}
	event := lines.events(1)[0]
	got, id := sent.sentEvents(1)
	require.Equal(t, []string{event.ID, event.ID}, []string{id, got[0].id})
	part, err := ends.Recv()
	require.NoError(t, err)
	require.Equal(t, event.ID, part.GetToken())
	stop()
	none, last := lines.rest()
	require.Empty(t, none)
	require.Equal(t, event.ID, last.Token)
	all, err := io.ReadAll(sent.in)
	require.NoError(t, err)
	require.Equal(t, "id: "+event.ID+"\n\n", string(all))
	_, err = ends.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
}

// sentEvent is a server-sent event.
type sentEvent struct{ id, event, data string }

// sentEvents parses events as clients do: comments are dropped, an id holds for what follows.
func (c *changesReader) sentEvents(n int) (out []sentEvent, id string) {
	var e sentEvent
	for len(out) < n {
		text, err := c.in.ReadString('\n')
		require.NoError(c.t, err)
		field, value, _ := strings.Cut(strings.TrimSuffix(text, "\n"), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			e.event = value
		case "data":
			e.data = value
		case "":
			if e.data != "" {
				e.id = id
				out = append(out, e)
			}
			e = sentEvent{}
		}
	}
	return out, id
}

// A client of server-sent events continues by the id that it had last, also where a selector has taken no event since.
func TestServerSentEvents(t *testing.T) {
	r, stop := serveLogged(t, t.TempDir())
	defer stop()
	const only = "heartbeat=100ms&selectors=" + `%5B%7B%22select%22%3A%22n%22%2C%22labels%22%3A%5B%22A%22%5D%7D%5D`
	res := r.follow(t, "text/html, text/event-stream;q=0.9", only)
	require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
	require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
	r.run(t, "CREATE (:A {i: 1})", "CREATE (:A {i: 2})")
	got, id := res.sentEvents(1)
	require.Contains(t, got[0].data, `"i":1`)
	require.Equal(t, id, got[0].id)
	var l line
	require.NoError(t, json.Unmarshal([]byte(got[0].data), &l))
	require.Equal(t, id, l.ID)
	_ = res.Body.Close()

	res = r.follow(t, "text/event-stream", only, "Last-Event-ID", id)
	got, id = res.sentEvents(1)
	require.Contains(t, got[0].data, `"i":2`)
	r.run(t, "CREATE (:B)")
	moved := id
	for moved == id { // heartbeats
		text, err := res.in.ReadString('\n')
		require.NoError(t, err)
		require.NotContains(t, text, "data")
		if value, ok := strings.CutPrefix(text, "id: "); ok {
			moved = strings.TrimSpace(value)
		}
	}
	r.run(t, "CREATE (:A {i: 3})")
	_ = res.Body.Close()
	res = r.follow(t, "text/event-stream", only+"&format=debezium&wait=0s", "Last-Event-ID", moved)
	got, _ = res.sentEvents(1)
	require.Contains(t, got[0].data, `{"before":null,"after":{"elementId":`)
	rest, err := io.ReadAll(res.in)
	require.NoError(t, err)
	require.NotContains(t, string(rest), "data:")
}

// Wrong tokens and parameters are errors with a code, before anything is sent.
func TestChangesErrors(t *testing.T) {
	r, stop := serveLogged(t, t.TempDir())
	defer stop()
	other, stopOther := serveLogged(t, t.TempDir())
	defer stopOther()
	_, last := r.follow(t, "*/*", "wait=0s").rest()
	_, foreign := other.follow(t, "*/*", "wait=0s").rest()
	forged := []byte(last.Token)
	forged[8] ^= 1
	for _, c := range []struct {
		query, detail string
		status        int
	}{
		{"from=" + string(forged), "TokenMalformed", 400},
		{"from=yesterday", "TokenMalformed", 400},
		{"from=" + foreign.Token, "TokenOfOtherGraph", 400},
		{"graph=none", "NotFound", 404},
		{"selectors=" + url.QueryEscape(`[{"select":"n","labels":1}]`), "InvalidSelector", 400},
		{"wait=-1s", "InvalidRequest", 400},
		{"heartbeat=1ms", "InvalidRequest", 400},
		{"format=avro", "InvalidRequest", 400},
		{"form=json", "InvalidRequest", 400},
		{"from=current&from=earliest", "InvalidRequest", 400},
	} {
		for _, media := range []string{"*/*", "text/event-stream"} {
			res := r.follow(t, media, c.query)
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, c.status, res.StatusCode, "%s: %s", c.query, body)
			require.Contains(t, string(body), `"detail":"`+c.detail+`"`, c.query)
		}
	}
	res := r.follow(t, "text/event-stream", "", "Last-Event-ID", string(forged))
	require.Equal(t, 400, res.StatusCode)
	for _, req := range []*pb.ChangesRequest{
		{From: string(forged)}, {Selectors: "{"}, {Format: 9}, {Wait: durationpb.New(-1)}, {Heartbeat: durationpb.New(time.Hour)},
	} {
		s, err := pb.NewGraphServiceClient(r.conn).Changes(t.Context(), req)
		require.NoError(t, err)
		_, err = s.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", req)
	}
}

// The call gives events as values, or as JSON in messages that any client accepts.
func TestChangesOverGRPC(t *testing.T) {
	r, stop := serveLogged(t, t.TempDir())
	defer stop()
	r.run(t, "CREATE (:A {i: 1})-[:R]->(:A {i: 2})", fmt.Sprintf("UNWIND range(1, 3000) AS i CREATE (:B {text: '%s'})", strings.Repeat("x", 1000)))
	all := func(format pb.ChangeFormat) (out []*pb.ChangeEvent) {
		s, err := pb.NewGraphServiceClient(r.conn).Changes(t.Context(), &pb.ChangesRequest{From: "earliest", Format: format, Wait: durationpb.New(0)})
		require.NoError(t, err)
		for {
			part, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return out
			}
			require.NoError(t, err)
			require.NotEmpty(t, part.GetToken())
			if n := len(part.GetEvents()); n > 0 {
				require.Equal(t, part.GetEvents()[n-1].GetId(), part.GetToken())
			}
			out = append(out, part.GetEvents()...)
		}
	}
	values, text := all(pb.ChangeFormat_CHANGE_FORMAT_UNSPECIFIED), all(pb.ChangeFormat_CHANGE_FORMAT_JSON)
	require.Len(t, values, 3003)
	require.Len(t, text, 3003)
	for i, v := range values {
		require.Equal(t, v.GetId(), text[i].GetId())
		require.Equal(t, []any{v.GetTxId(), v.GetSeq(), v.GetLast()}, []any{text[i].GetTxId(), text[i].GetSeq(), text[i].GetLast()})
		require.Empty(t, v.GetJson())
	}
	require.Equal(t, "elementId", values[0].GetEvent().GetMap().GetEntries()[0].GetKey())
	require.NotEmpty(t, values[0].GetMetadata().GetMap().GetEntries())
	var l line
	require.NoError(t, json.Unmarshal(text[2].GetJson(), &l))
	require.True(t, l.Last)
	require.True(t, text[2].GetLast())
	require.Contains(t, string(all(pb.ChangeFormat_CHANGE_FORMAT_DEBEZIUM)[0].GetJson()), `"source":{`)
}

// A stream needs a reader, and ends when its caller is none any more.
func TestChangesRights(t *testing.T) {
	g := serveGuarded(t)
	bearer := func(r access.Role) []string { return []string{"Authorization", "Bearer " + g.tokens[r]} }
	require.Equal(t, 403, g.follow(t, "*/*", "", bearer(access.Fetcher)...).StatusCode)
	require.Equal(t, 401, g.follow(t, "*/*", "", bearer(access.None)...).StatusCode)
	call := func() pb.GraphService_ChangesClient {
		s, err := pb.NewGraphServiceClient(g.conn).Changes(g.as(access.Reader), &pb.ChangesRequest{})
		require.NoError(t, err)
		return s
	}
	lines, sent := g.follow(t, "*/*", "", bearer(access.Reader)...), g.follow(t, "text/event-stream", "", bearer(access.Reader)...)
	require.Equal(t, 200, lines.StatusCode)
	stream := call()
	_, err := stream.Recv()
	require.NoError(t, err)
	g.grantRoles(t, map[access.Role]access.Role{access.Fetcher: access.Fetcher})
	_, last := lines.rest()
	require.Len(t, last.Errors, 1)
	require.NoError(t, lastHas(sent.in, "event: error\ndata: {\"errors\":["))
	for err == nil {
		_, err = stream.Recv()
	}
	require.Equal(t, codes.Unauthenticated, status.Code(err))
}

// Events are charged to the quotas of their caller, and a stream to the rate of its requests: what is used up refuses the next one.
func TestChangesQuotas(t *testing.T) {
	r, stop := serveLogged(t, t.TempDir())
	defer stop()
	r.run(t, "UNWIND range(1, 100) AS i CREATE (:A)",
		"CALL db.quotas.put({name: 'work', for: 'everyone', measure: 'cost', amount: 150, window: 'day', mode: 'enforce'})")
	ask := func() (int, int) {
		res := r.follow(t, "*/*", "from=earliest&wait=0s")
		if res.StatusCode != http.StatusOK {
			return res.StatusCode, 0
		}
		all, _ := res.rest()
		return res.StatusCode, len(all)
	}
	status, n := ask()
	require.Equal(t, []int{200, 100}, []int{status, n})
	require.Eventually(t, func() bool {
		status, _ = ask()
		return status == http.StatusTooManyRequests
	}, time.Minute, time.Millisecond)
}
