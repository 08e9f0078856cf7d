package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/query"
)

// session is a client's way to run transactions, one after another.
type session interface {
	begin(readOnly bool) error
	run(statement string, params map[string]any) ([][]any, error)
	commit() error
	rollback() error
}

// codeError is an error by its status code.
type codeError string

func (e codeError) Error() string { return string(e) }

// retriable reports whether a transaction that failed may be run again.
func retriable(err error) bool {
	var c codeError
	return errors.As(err, &c) && strings.HasPrefix(string(c), "Neo.TransientError.Transaction.")
}

// httpSession speaks Neo4j's Query API.
type httpSession struct{ base, tx string }

func (s *httpSession) send(method, url string, body map[string]any) (*txAnswer, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	a := &txAnswer{status: res.StatusCode}
	dec := json.NewDecoder(res.Body)
	if err := dec.Decode(a); err != nil {
		return nil, err
	}
	switch conflict := strings.HasPrefix(a.code(), "Neo.TransientError.Transaction."); {
	case conflict != (a.status == http.StatusConflict):
		return nil, fmt.Errorf("status %d with code %s", a.status, a.code())
	case a.code() != "":
		return nil, fmt.Errorf("%w: %s", codeError(a.code()), a.Errors[0].Message)
	}
	return a, nil
}

func (s *httpSession) begin(readOnly bool) error {
	mode := "WRITE"
	if readOnly {
		mode = "READ"
	}
	a, err := s.send("POST", s.base, map[string]any{"accessMode": mode})
	if err == nil {
		s.tx = s.base + "/" + a.Transaction.ID
	}
	return err
}

func (s *httpSession) run(statement string, params map[string]any) ([][]any, error) {
	return s.rows(s.send("POST", s.tx, map[string]any{"statement": statement, "parameters": params}))
}

// rows returns the values of an answer; integers are int64, lists []any.
func (s *httpSession) rows(a *txAnswer, err error) ([][]any, error) {
	if err != nil {
		return nil, err
	}
	rows := make([][]any, len(a.Data.Values))
	for i, row := range a.Data.Values {
		for _, raw := range row {
			var v any
			dec := json.NewDecoder(bytes.NewReader(raw))
			dec.UseNumber()
			if err := dec.Decode(&v); err != nil {
				return nil, err
			}
			rows[i] = append(rows[i], integers(v))
		}
	}
	return rows, nil
}

func integers(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, _ := v.Int64()
		return n
	case []any:
		for i := range v {
			v[i] = integers(v[i])
		}
	}
	return v
}

func (s *httpSession) commit() error {
	_, err := s.send("POST", s.tx+"/commit", nil)
	return err
}

func (s *httpSession) rollback() error {
	_, err := s.send("DELETE", s.tx, nil)
	return err
}

// grpcSession speaks Transact.
type grpcSession struct {
	client pb.GraphServiceClient
	x      transaction
	cancel context.CancelFunc
}

// reason returns an error by its code.
func reason(err error) error {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(interface{ GetReason() string }); ok {
			return fmt.Errorf("%w: %w", codeError(info.GetReason()), err)
		}
	}
	return err
}

func (s *grpcSession) begin(readOnly bool) error {
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := s.client.Transact(ctx)
	if err != nil {
		cancel()
		return err
	}
	s.x, s.cancel = transaction{stream}, cancel
	mode := pb.AccessMode_ACCESS_MODE_WRITE
	if readOnly {
		mode = pb.AccessMode_ACCESS_MODE_READ
	}
	if err := s.x.begin(&pb.TransactBegin{AccessMode: mode}); err != nil {
		cancel()
		return reason(err)
	}
	return nil
}

func (s *grpcSession) run(statement string, params map[string]any) ([][]any, error) {
	rows, err := s.x.run(statement, params)
	if err != nil {
		return nil, reason(err)
	}
	return rows, nil
}

func (s *grpcSession) commit() error {
	defer s.cancel()
	if _, err := s.x.commit(); err != nil {
		return reason(err)
	}
	return nil
}

func (s *grpcSession) rollback() error {
	defer s.cancel()
	return s.x.rollback()
}

// autocommit is the mutant: it takes the statements of a transaction for one transaction each.
type autocommit struct{ httpSession }

func (s *autocommit) begin(bool) error { return nil }
func (s *autocommit) commit() error    { return nil }
func (s *autocommit) rollback() error  { return nil }
func (s *autocommit) run(statement string, params map[string]any) ([][]any, error) {
	runtime.Gosched()
	return s.rows(s.send("POST", strings.TrimSuffix(s.base, "/tx"), map[string]any{"statement": statement, "parameters": params}))
}

// errAbort ends a transaction that is to be rolled back.
var errAbort = errors.New("rolled back on purpose")

// transact runs a transaction until it is committed or fails for good; errAbort rolls it back. Nothing is asked of a
// transaction whose statement has failed: it is over.
func transact(s session, readOnly bool, f func(run runFunc) error) error {
	for {
		err := s.begin(readOnly)
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		failed := false
		err = f(func(statement string, params map[string]any) ([]any, error) {
			rows, err := s.run(statement, params)
			failed = failed || err != nil
			if err != nil || len(rows) == 0 {
				return nil, err
			}
			return rows[0], nil
		})
		switch {
		case err == nil:
			err = s.commit()
		case !failed:
			if err := s.rollback(); err != nil {
				return fmt.Errorf("rollback: %w", err)
			}
		}
		if !retriable(err) {
			return err
		}
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	}
}

// runFunc runs a statement in a transaction and returns its first row.
type runFunc func(statement string, params map[string]any) ([]any, error)

// acidRun is how much a run of a case does.
type acidRun struct {
	writers, readers, writes int
	session                  func(i int) session
}

// run runs a case and returns the anomalies that it saw.
func (c *acidCase) run(t *testing.T, a acidRun) []string {
	var mu sync.Mutex
	var anomalies []string
	anomaly := func(s string) {
		if s != "" {
			mu.Lock()
			anomalies = append(anomalies, s)
			mu.Unlock()
		}
	}
	require.NoError(t, transact(a.session(0), false, func(run runFunc) error {
		for _, s := range append([]string{"MATCH (n) DETACH DELETE n"}, c.setup...) {
			if _, err := run(s, nil); err != nil {
				return err
			}
		}
		return nil
	}))
	var writing, reading sync.WaitGroup
	var done atomic.Bool
	var number, committed atomic.Int64
	failures := make(chan error, a.writers+a.readers)
	for i := range a.writers {
		writing.Go(func() {
			s := a.session(i)
			for range a.writes {
				n := int(number.Add(1))
				err := transact(s, false, func(run runFunc) error { return c.write(run, n, anomaly) })
				if err == nil {
					committed.Add(1)
				} else if !errors.Is(err, errAbort) {
					failures <- err
					return
				}
			}
		})
	}
	for i := range a.readers {
		if c.read == nil {
			break
		}
		reading.Go(func() {
			s := a.session(i)
			for !done.Load() {
				if err := transact(s, true, func(run runFunc) error { return c.read(run, anomaly) }); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
	if c.final != nil {
		require.NoError(t, transact(a.session(0), true, func(run runFunc) error { return c.final(run, committed.Load(), anomaly) }))
	}
	select {
	case err := <-failures:
		require.NoError(t, err)
	default:
	}
	return anomalies
}

func (r *running) acid(writes int) acidRun {
	return acidRun{writers: 4, readers: 3, writes: writes, session: func(i int) session {
		if i%2 == 0 {
			return &httpSession{base: "http://" + r.addrs.HTTP + "/db/neo4j/query/v2/tx"}
		}
		return &grpcSession{client: pb.NewGraphServiceClient(r.conn)}
	}}
}

// The anomalies of LDBC's ACID suite that snapshot isolation excludes do not occur over any transport.
func TestACID(t *testing.T) {
	writes := 15
	if testing.Short() {
		writes = 5
	}
	r := serveOver(t, newLocal(t), query.Options{}, Options{})
	for _, c := range acidCases {
		t.Run(c.name, func(t *testing.T) {
			require.Empty(t, c.run(t, r.acid(writes)))
			require.Empty(t, r.engine.Running(context.Background()))
		})
	}
}

// Each case sees its anomaly where statements do not hang together.
func TestACIDSeesAnomalies(t *testing.T) {
	r := serve(t)
	a := r.acid(30)
	a.session = func(int) session {
		return &autocommit{httpSession{base: "http://" + r.addrs.HTTP + "/db/neo4j/query/v2/tx"}}
	}
	for _, c := range acidCases {
		t.Run(c.name, func(t *testing.T) {
			for range 20 {
				if len(c.run(t, a)) > 0 {
					return
				}
			}
			t.Fatal("no anomaly was seen")
		})
	}
}

// Statements on their own do not lose updates either, and no client hears of a conflict.
func TestACIDAutocommit(t *testing.T) {
	r := serveOver(t, newLocal(t), query.Options{}, Options{})
	_, err := r.query(context.Background(), &pb.QueryRequest{Statement: "CREATE (:P {id: 1, n: 0})"})
	require.NoError(t, err)
	const clients, each = 8, 10
	var wg sync.WaitGroup
	failures := make(chan error, clients)
	for range clients {
		wg.Go(func() {
			for range each {
				if _, err := r.query(context.Background(), &pb.QueryRequest{Statement: "MATCH (p:P {id: 1}) SET p.n = p.n + 1 CREATE (p)-[:R]->(:Q)"}); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	require.NoError(t, <-failures)
	a, err := r.query(context.Background(), &pb.QueryRequest{Statement: "MATCH (p:P)-[:R]->(:Q) RETURN p.n, count(*)"})
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(clients * each), int64(clients * each)}}, rowsOf(a.values[0]))
}
