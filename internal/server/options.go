package server

import (
	"fmt"
	"log/slog"
)

// Options are the server's settings.
type Options struct {
	// MaxRequestBytes bounds a request's body, and a message of a load; default 64 MiB.
	MaxRequestBytes int64
	// TestProcedures opens PUT /v1/test/procedures.
	TestProcedures bool
	// Logger takes what the server has to say; default slog.Default().
	Logger *slog.Logger
}

// EnsureDefaults fills in what is not set.
func (o *Options) EnsureDefaults() {
	if o.MaxRequestBytes == 0 {
		o.MaxRequestBytes = 64 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
}

// Validate gives all faults of options whose defaults are filled in.
func (o *Options) Validate() error {
	if o.MaxRequestBytes < 1<<10 {
		return fmt.Errorf("max-request: must be at least 1KiB, is %d", o.MaxRequestBytes)
	}
	return nil
}
