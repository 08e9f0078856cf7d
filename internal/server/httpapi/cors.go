package httpapi

import (
	"net/http"
	"strings"

	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// corsHeaders are the request headers that pages of other origins may set.
const corsHeaders = "Accept, Authorization, Content-Type, If-None-Match, " + staleHeader + ", " + snapshotHeader + ", Prefer, Traceparent, Tracestate, " + request.Header

// checkWeb rejects requests that forbidden web pages may have sent. With tokens, no check is needed: browsers do not send bearer tokens on
// their own.
func (h *Handler) checkWeb(r *http.Request) error {
	if h.host.Auth != nil {
		return nil
	}
	return h.host.Web.Check(r)
}

// checkWrite rejects a request that writes if a browser could send it without a preflight.
func (h *Handler) checkWrite(r *http.Request) error {
	if h.host.Auth != nil {
		return nil
	}
	return h.host.Web.CheckType(r)
}

// allowOrigin allows pages of permitted origins to read the response.
func (h *Handler) allowOrigin(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return
	}
	w.Header().Add("Vary", "Origin")
	if h.host.Web.AllowsOrigin(origin) {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", exposed)
	}
}

// preflight answers a browser's preflight request for a page of another origin.
func (h *Handler) preflight(w http.ResponseWriter, r *http.Request) {
	if err := h.checkWeb(r); err != nil {
		wire.Fail(w, err)
		return
	}
	allowed := h.methods(r)
	if r.Header.Get("Access-Control-Request-Method") == "" || !h.host.Web.AllowsOrigin(r.Header.Get("Origin")) || len(allowed) == 0 {
		h.noRoute(w, r)
		return
	}
	w.Header().Set("Access-Control-Allow-Methods", strings.Join(allowed, ", "))
	w.Header().Set("Access-Control-Allow-Headers", corsHeaders)
	w.Header().Set("Access-Control-Max-Age", "600") // seconds
	w.WriteHeader(http.StatusNoContent)
}
