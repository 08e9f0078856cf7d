package httpapi

import (
	"net/http"
	"strings"

	"github.com/hopgate/hopgate/internal/query/fresh"
	"github.com/hopgate/hopgate/internal/server/request"
	"github.com/hopgate/hopgate/internal/version"
)

// condition returns what a request asks of a read: a tag for each GET, and for a POST with If-None-Match, which RFC 9110 defines for GET and
// HEAD alone; here a read that is a POST is answered by 304 as well.
func condition(r *http.Request, f format) *fresh.Condition {
	list := r.Header["If-None-Match"]
	if r.Method != http.MethodGet && list == nil {
		return nil
	}
	return &fresh.Condition{None: strings.Join(list, ","), Format: f.media + "\n" + version.Build()}
}

// unmodified answers that the client has the answer, if it does. weak is as for tag.
func unmodified(w http.ResponseWriter, c *fresh.Condition, weak bool) bool {
	if c == nil || !c.Unmodified {
		return false
	}
	tag(w, c, weak)
	w.WriteHeader(http.StatusNotModified)
	return true
}

// tag sets the answer's tag, before its header is sent. A weak one is for a form whose bytes may differ from time to time.
func tag(w http.ResponseWriter, c *fresh.Condition, weak bool) {
	if c == nil || c.Tag == "" {
		return
	}
	h := w.Header()
	h.Set("ETag", c.Tag)
	if weak {
		h.Set("ETag", "W/"+c.Tag)
	}
	h.Set("Cache-Control", "no-cache") // the answer may be stored, and be used after asking
	h.Add("Vary", "Accept, Authorization, "+graphHeader)
}

// exposed are the response headers that pages of other origins may read.
const exposed = "ETag, Retry-After, " + policyHeader + ", " + leftHeader + ", " + costHeader + ", " + snapshotHeader + ", " + request.Header
