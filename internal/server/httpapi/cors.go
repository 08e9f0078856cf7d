package httpapi

import (
	"net/http"
	"strings"

	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// corsHeaders are the headers of requests that pages of other origins may set.
const corsHeaders = "Accept, Authorization, Content-Type, Prefer, Traceparent, Tracestate, " + request.Header

// checkWeb refuses what a web page that must not may have sent. Where tokens are asked for no page has one unless it was
// given one: browsers do not send bearer tokens by themselves.
func (h *Handler) checkWeb(r *http.Request) error {
	if h.opt.Auth != nil {
		return nil
	}
	return h.opt.Web.Check(r)
}

// checkWrite refuses a request that writes if a browser may send it without asking the server first.
func (h *Handler) checkWrite(r *http.Request) error {
	if h.opt.Auth != nil {
		return nil
	}
	return h.opt.Web.CheckType(r)
}

// allowOrigin lets pages of the allowed origins read the answer.
func (h *Handler) allowOrigin(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return
	}
	w.Header().Add("Vary", "Origin")
	if h.opt.Web.AllowsOrigin(origin) {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "Retry-After, "+request.Header)
	}
}

// preflight answers a browser that asks, for a page of another origin, whether it may send a request.
func (h *Handler) preflight(w http.ResponseWriter, r *http.Request) {
	if err := h.checkWeb(r); err != nil {
		wire.Fail(w, err)
		return
	}
	allowed := h.methods(r)
	if r.Header.Get("Access-Control-Request-Method") == "" || !h.opt.Web.AllowsOrigin(r.Header.Get("Origin")) || len(allowed) == 0 {
		h.noRoute(w, r)
		return
	}
	w.Header().Set("Access-Control-Allow-Methods", strings.Join(allowed, ", "))
	w.Header().Set("Access-Control-Allow-Headers", corsHeaders)
	w.Header().Set("Access-Control-Max-Age", "600") // seconds
	w.WriteHeader(http.StatusNoContent)
}
