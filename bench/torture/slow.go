package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// slowPhase is how long each slow client keeps its connection at most.
const slowPhase = 75 * time.Second

// slowClients hold connections open: one half asks for endless rows and reads none, the other sends a byte of its large body a second.
type slowClients struct {
	http   string
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func startSlow(address string, clients int) *slowClients {
	ctx, cancel := context.WithCancel(context.Background())
	s := &slowClients{http: address, cancel: cancel}
	for i := range clients {
		client := s.readNothing
		if i%2 == 1 {
			client = s.sendSlowly
		}
		s.wg.Go(func() {
			for ctx.Err() == nil {
				within, end := context.WithTimeout(ctx, slowPhase)
				client(within)
				end()
			}
		})
	}
	return s
}

func (s *slowClients) stop() {
	s.cancel()
	s.wg.Wait()
}

// dial opens a connection, which ends with ctx, and begins a request with it.
func (s *slowClients) dial(ctx context.Context, size int, body string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.http)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = c.Close() })
	_, err = fmt.Fprintf(c, "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nAccept: application/x-ndjson\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", size, body)
	return c, err
}

func (s *slowClients) readNothing(ctx context.Context) {
	body := statement("UNWIND range(1, 1000000000) AS x RETURN x")
	if _, err := s.dial(ctx, len(body), body); err == nil {
		<-ctx.Done()
	}
}

func (s *slowClients) sendSlowly(ctx context.Context) {
	c, err := s.dial(ctx, 10<<20, strings.Repeat(" ", 100<<10))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for err == nil {
		select {
		case <-tick.C:
			_, err = io.WriteString(c, " ")
		case <-ctx.Done():
			return
		}
	}
}
