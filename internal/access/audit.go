package access

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
)

// Audit is a log of changes and refusals as JSON lines. A nil Audit logs nothing.
type Audit struct{ log *slog.Logger }

// OpenAudit opens an audit log: a file to append to, "stderr", or "" for none. The caller closes it.
func OpenAudit(path string) (*Audit, io.Closer, error) {
	switch path {
	case "":
		return nil, io.NopCloser(nil), nil
	case "stderr":
		return NewAudit(os.Stderr), io.NopCloser(nil), nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("audit-log: %w", err)
	}
	return NewAudit(f), f, nil
}

// NewAudit returns an audit log that writes each line to w immediately.
func NewAudit(w io.Writer) *Audit {
	return &Audit{log: JSONLines(w)}
}

// JSONLines returns a logger that writes lines of JSON without levels and messages.
func JSONLines(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// Record logs an action of a caller in a graph and its outcome: "ok", or the code of the error.
func (a *Audit) Record(ctx context.Context, action, graphName, what, outcome string) {
	if a == nil {
		return
	}
	caller := Of(ctx)
	attrs := []slog.Attr{
		slog.String("request", Request(ctx)), slog.String("caller", caller.Name), slog.String("action", action),
		slog.String("graph", graphName), slog.String("what", what), slog.String("outcome", outcome),
	}
	if caller.Issuer != "" {
		attrs = append(attrs, slog.String("issuer", caller.Issuer))
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "", attrs...)
}
