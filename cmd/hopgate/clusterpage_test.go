package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pageOf is a page of a result, as bytes.
type pageOf struct {
	values         []byte // without the outer brackets
	next, snapshot string
}

// askPage asks a gateway for a page of a statement, or for all of it with size 0.
func askPage(address, statement string, size int, token, at string) (p pageOf, err error) {
	body, err := json.Marshal(map[string]any{"statement": statement, "pageSize": size, "pageToken": token})
	if err != nil {
		return p, err
	}
	target := "http://" + address + "/v1/query"
	if at != "" {
		target += "?at=" + url.QueryEscape(at)
	}
	res, err := http.Post(target, "application/json", bytes.NewReader(body))
	if err != nil {
		return p, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%d %s", res.StatusCode, text)
	}
	if err != nil {
		return p, err
	}
	var answer struct {
		Data          struct{ Values json.RawMessage }
		NextPageToken string
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return p, err
	}
	p.values, p.next = bytes.TrimSuffix(bytes.TrimPrefix(answer.Data.Values, []byte("[")), []byte("]")), answer.NextPageToken
	if p.snapshot = res.Header.Get("Hopgate-Snapshot"); p.snapshot == "" {
		p.snapshot = res.Trailer.Get("Hopgate-Snapshot")
	}
	return p, nil
}

// TestClusterPages reads a label by pages of 1,000 through two gateways, under writers through both, while one gateway after the other is killed
// in the middle of a page: all pages together are, byte for byte, the one read of the first page's snapshot. HOPGATE_SEEDS is the number of
// kills; each has 20,000 rows.
func TestClusterPages(t *testing.T) {
	kills := rounds(3)
	const perKill, size = 20_000, 1_000
	_, gs := startCluster(t, 2, 2, "--log-retention", "1GiB,24h")
	rows := kills * perKill
	must := func(text string) {
		_, err := ask(gs[0].http, text)
		require.NoError(t, err, text)
	}
	must("CREATE CONSTRAINT FOR (n:P) REQUIRE n.k IS UNIQUE")
	for from := 0; from < rows; from += 10_000 {
		must(fmt.Sprintf("UNWIND range(%d, %d) AS k CREATE (:P {k: k, v: k %% 97})", from, from+9_999))
	}
	const text = "MATCH (n:P) RETURN n.k AS k, n.v, labels(n) ORDER BY k"
	rng := rand.New(rand.NewPCG(uint64(kills), 5))
	var writes atomic.Int64
	end := until(2, func(i int) {
		k := rand.IntN(rows)
		change := []string{
			fmt.Sprintf("MATCH (n:P {k: %d}) SET n.v = %d", k, k+i), fmt.Sprintf("MATCH (n:P {k: %d}) DETACH DELETE n", k),
			fmt.Sprintf("CREATE (:P {k: %d, v: -1})", rows+int(writes.Load())), fmt.Sprintf("MATCH (n:P {k: %d}) SET n:Q", k),
			fmt.Sprintf("MATCH (n:P {k: %d}) REMOVE n:P", k),
		}[rand.IntN(5)]
		if _, err := ask(gs[i].http, change); err == nil {
			writes.Add(1)
		}
		time.Sleep(time.Millisecond)
	})
	defer end()
	var all []byte
	var first pageOf
	var took []time.Duration
	token := ""
	for pages := 0; ; pages++ {
		gateway := rng.IntN(2)
		killed := make(chan struct{})
		if pages%(perKill/size) == perKill/size/2 && pages/(perKill/size) < kills {
			wait := time.Duration(rng.IntN(10_000)) * time.Microsecond
			go func() {
				defer close(killed)
				time.Sleep(wait)
				gs[gateway].kill(syscall.SIGKILL)
			}()
		} else {
			close(killed)
		}
		began := time.Now()
		p, err := askPage(gs[gateway].http, text, size, token, "")
		if err == nil {
			took = append(took, time.Since(began))
		} else { // the other one goes on
			eventually(t, func() bool {
				p, err = askPage(gs[1-gateway].http, text, size, token, "")
				return err == nil
			}, 10*time.Millisecond)
		}
		<-killed
		if gs[gateway].killed.Load() {
			gs[gateway].start()
			eventually(t, func() bool { _, err := ask(gs[gateway].http, "RETURN 1"); return err == nil }, 10*time.Millisecond)
		}
		if token == "" {
			first = p
		} else {
			all = append(all, ',')
		}
		require.Equal(t, first.snapshot, p.snapshot)
		all = append(all, p.values...)
		if token = p.next; token == "" {
			break
		}
	}
	end()
	long, err := askPage(gs[1].http, text, 0, "", first.snapshot)
	require.NoError(t, err)
	if !bytes.Equal(long.values, all) {
		t.Fatalf("the pages have %d bytes and the one read %d, which differ", len(all), len(long.values))
	}
	median := func(d []time.Duration) time.Duration {
		d = slices.Clone(d)
		slices.Sort(d)
		return d[len(d)/2]
	}
	n := min(50, len(took)/3)
	t.Logf("%d rows, %d kills, %d writes; a page took %v at first, %v at last (medians of %d)", rows, kills, writes.Load(), median(took[:n]), median(took[len(took)-n:]), n)
}
