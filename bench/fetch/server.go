package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/hopgate/hopgate/bench/proc"
)

// result holds the measurements of a fetch.
type result struct {
	first, all, p99 time.Duration
	busy            time.Duration // the server's CPU time, mean
	size            int64
	peak            uint64 // the peak memory of the server meanwhile
}

func measure(s *proc.Server, m measured) (r result, err error) {
	if err := s.ResetPeak(); err != nil {
		return r, err
	}
	before, err := s.ProcessorTime()
	if err != nil {
		return r, err
	}
	var firsts, alls []time.Duration
	for i := range m.runs + 1 {
		first, all, size, err := fetch(s, m.body)
		if err != nil {
			return r, err
		}
		if i > 0 { // the first run is not warm
			firsts, alls, r.size = append(firsts, first), append(alls, all), size
		}
	}
	slices.Sort(firsts)
	slices.Sort(alls)
	r.first, r.all, r.p99 = firsts[len(firsts)/2], alls[len(alls)/2], alls[len(alls)*99/100]
	after, err := s.ProcessorTime()
	if err != nil {
		return r, err
	}
	r.busy = (after - before) / time.Duration(m.runs+1)
	r.peak, err = s.Memory("VmHWM")
	return r, err
}

// client does not decompress responses.
var client = &http.Client{Transport: &http.Transport{DisableCompression: true}}

// fetch sends a request and returns the times to the first and the last byte.
func fetch(s *proc.Server, body string) (first, all time.Duration, size int64, err error) {
	start := time.Now()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+s.HTTP+"/get", bytes.NewBufferString(body))
	if err != nil {
		return 0, 0, 0, err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, 0, 0, err
	}
	defer res.Body.Close()
	buf := make([]byte, 64<<10)
	n, err := io.ReadAtLeast(res.Body, buf, 1)
	if err != nil {
		return 0, 0, 0, err
	}
	first = time.Since(start)
	rest, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, buf)
	size = int64(n) + rest
	if err == nil && size < 1000 {
		err = fmt.Errorf("a short answer: %s", buf[:n])
	}
	return first, time.Since(start), size, err
}
