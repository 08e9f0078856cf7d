package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/server/admin"
	"github.com/hopgate/hopgate/internal/telemetry"
)

// serveAdmin serves the metrics and profiles of a load until the caller calls stop.
func serveAdmin(ctx context.Context, addr string, plan *loader.Plan, log io.Writer) (stop func() error, err error) {
	if addr == "" {
		return func() error { return nil }, nil
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--admin: %w", err)
	}
	health := &admin.Health{Probe: func(context.Context) error { return nil }}
	s := &http.Server{Handler: admin.New(health, telemetry.NewLoadRegistry(plan), nil, nil, admin.NewDebug(nil, &admin.Tuning{}, nil)), ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(log, "metrics and profiles: http://%s\n", l.Addr())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	return func() error {
		err := s.Close()
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		return err
	}, nil
}
