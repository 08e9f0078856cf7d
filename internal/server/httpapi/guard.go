package httpapi

import (
	"io"
	"net/http"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// guard checks a request before f sees it and reads the body: the token if authentication is on, otherwise whether a forbidden web page may
// have sent it, and then the rate of its caller. failed writes an error.
func (h *Handler) guard(f http.HandlerFunc, failed func(http.ResponseWriter, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h.checkWeb(r); err != nil {
			failed(w, err)
			return
		}
		if h.host.Auth == nil && h.host.Rates == nil {
			f(w, r)
			return
		}
		ctx, err := h.host.Auth.Authenticate(r.Context(), r.Header.Get("Authorization"))
		if err != nil {
			wire.Refuse(w, err, failed)
			return
		}
		ctx, meter, err := h.host.Rates.Arrive(ctx)
		if err != nil {
			w.Header().Set("Connection", "close") // do not read the body
			failed(w, err)
			return
		}
		if s, ok := w.(*statusWriter); ok && meter != nil {
			s.meter, s.ctx = meter, ctx
			r.Body = meteredBody{r.Body, meter}
		}
		f(w, r.WithContext(ctx))
	}
}

// meteredBody counts the bytes of a request.
type meteredBody struct {
	io.ReadCloser
	m *access.Meter
}

func (b meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.m.Count(n)
	return n, err
}
