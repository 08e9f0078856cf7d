package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// mixClients send well-behaved requests sequentially, with mixPause between them.
const (
	mixClients = 4
	mixPause   = 10 * time.Millisecond
)

// mix sends the well-behaved requests.
type mix struct {
	http   string
	people int
	client *http.Client
}

// newMix returns a mix whose requests come from another host than those of the others: without tokens, the host is the caller.
func newMix(address string, people int) *mix {
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	return &mix{http: address, people: people, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: mixClients, DialContext: from.DialContext}}}
}

// times holds the times of one kind of request, shortest first.
type times struct {
	name    string
	took    []time.Duration
	failed  int
	failure string // of a failed request
}

// at returns a percentile.
func (t *times) at(part int) time.Duration {
	if len(t.took) == 0 {
		return 0
	}
	return t.took[min(len(t.took)*part/100, len(t.took)-1)].Round(10 * time.Microsecond)
}

// merged returns the times of all kinds.
func merged(all []*times) *times {
	t := &times{name: "all"}
	for _, k := range all {
		t.took = append(t.took, k.took...)
	}
	slices.Sort(t.took)
	return t
}

// kind is a kind of request: its name, path, and the body for a person.
type kind struct{ name, path, body string }

// kinds lists the requests.
var kinds = []kind{
	{"key", "/v1/query", `{"statement": "MATCH (p:Person {id: $id}) RETURN p.name, p.age", "parameters": {"id": %d}}`},
	{"1 hop", "/v1/query", `{"statement": "MATCH (:Person {id: $id})-[:KNOWS]->(q) RETURN q.id, q.name", "parameters": {"id": %d}}`},
	{"2 hops", "/v1/query", `{"statement": "MATCH (:Person {id: $id})-[:KNOWS*1..2]->(q) RETURN count(DISTINCT q)", "parameters": {"id": %d}}`},
	{"fetch", "/get", `{"Person": {"id": %d, "@column": "name,age"}}`},
}

// withLarge adds a request with a large body.
func withLarge() []kind {
	body := `{"statement": "RETURN size($text) + $id", "parameters": {"id": %d, "text": "` + strings.Repeat("x", 100<<10) + `"}}`
	return append(slices.Clip(kinds), kind{"large body", "/v1/query", body})
}

// run sends requests for a while and returns their times by kind.
func (m *mix) run(kinds []kind, during time.Duration) []*times {
	ctx, cancel := context.WithTimeout(context.Background(), during)
	defer cancel()
	all := make([]*times, len(kinds))
	for i := range kinds {
		all[i] = &times{name: kinds[i].name}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for c := range mixClients {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(c), 3))
			pause := time.NewTicker(mixPause)
			defer pause.Stop()
			for i := c; ctx.Err() == nil; i++ {
				k := i % len(kinds)
				began := time.Now()
				err := m.send(kinds[k].path, fmt.Appendf(nil, kinds[k].body, r.IntN(m.people)))
				took := time.Since(began)
				mu.Lock()
				all[k].took = append(all[k].took, took)
				if err != nil {
					all[k].failed, all[k].failure = all[k].failed+1, err.Error()
				}
				mu.Unlock()
				<-pause.C
			}
		})
	}
	wg.Wait()
	for _, t := range all {
		slices.Sort(t.took)
	}
	return all
}

// send sends one request, and fails if the response is wrong.
func (m *mix) send(path string, body []byte) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+m.http+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := m.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Code   int
		Errors []any
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || answer.Errors != nil || answer.Code != 0 && answer.Code != http.StatusOK {
		return fmt.Errorf("%d: %.300s", res.StatusCode, text)
	}
	return nil
}
