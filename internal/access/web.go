package access

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
)

// Web says which web pages may use a listener that asks nobody who they are. A browser sends what any page asks it to,
// also to the loopback interface, and names in Origin who asks, in Host whom the page believes to reach. A page whose own
// name resolves to this machine (DNS rebinding) counts as the listener's own, so only its Host gives it away. A nil Web
// admits the listener's own pages alone.
type Web struct {
	origins map[string]bool
	hosts   []string
}

// NewWeb reads lists, separated by commas, of the origins of pages (http-origins) and of the host names that the listener
// answers to (http-hosts): names, *.NAME for all below a name, or * for any.
func NewWeb(origins, hosts string) (*Web, error) {
	w, err := NewOrigins("http-origins", origins)
	if err != nil {
		return nil, err
	}
	for _, name := range split(hosts) {
		if rest := strings.TrimPrefix(strings.TrimPrefix(name, "*"), "."); name != "*" && (rest == "" || strings.ContainsAny(rest, "*:/ ")) {
			return nil, fmt.Errorf("http-hosts: must be host names without a port, such as graphs.example.com or *.example.com, has %q", name)
		}
		w.hosts = append(w.hosts, name)
	}
	return w, nil
}

// NewOrigins reads a list, separated by commas, of the origins of pages. Errors name the setting that holds it.
func NewOrigins(setting, origins string) (*Web, error) {
	w := &Web{origins: map[string]bool{}}
	for _, text := range split(origins) {
		u, err := url.Parse(text)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != text || strings.Contains(text, "*") {
			return nil, fmt.Errorf("%s: must be origins such as https://app.example.com, has %q", setting, text)
		}
		port := u.Port()
		if u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" { // browsers leave them out
			text = strings.TrimSuffix(text, ":"+port)
		}
		w.origins[text] = true
	}
	return w, nil
}

// split gives the entries of a list, in lower case.
func split(list string) (out []string) {
	for entry := range strings.SplitSeq(strings.ToLower(list), ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}

// AllowsOrigin reports whether pages of a foreign origin may send requests and read the answers.
func (w *Web) AllowsOrigin(origin string) bool {
	return w != nil && w.origins[strings.ToLower(origin)]
}

// Check refuses a request that a page may have sent that is neither the listener's own nor allowed.
func (w *Web) Check(r *http.Request) error {
	if !w.answersTo(r.Host) {
		return refused("HostNotAllowed", fmt.Sprintf("the host %q is refused: without tokens the server answers to localhost, to addresses and to the names in http-hosts", r.Host))
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		// A request without an Origin that another site makes a browser send, of an image, say. To follow a link is harmless.
		site := r.Header.Get("Sec-Fetch-Site")
		if (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return refused("OriginNotAllowed", "a request of another site is refused: without tokens, pages of the origins in http-origins alone may send requests")
		}
		return nil
	}
	_, host, ok := strings.Cut(origin, "://")
	if ok && strings.EqualFold(host, r.Host) || w.AllowsOrigin(origin) {
		return nil
	}
	return refused("OriginNotAllowed", fmt.Sprintf("the origin %q is refused: without tokens, pages of the server's own origin and of those in http-origins alone may send requests", origin))
}

// answersTo reports whether a Host header names the listener.
func (w *Web) answersTo(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if w == nil {
		return false
	}
	for _, known := range w.hosts {
		if below, ok := strings.CutPrefix(known, "*"); host == known || ok && strings.HasSuffix(host, below) {
			return true
		}
	}
	return false
}

// CheckType refuses the Content-Type of a request that writes if a browser sends it without asking the server first: that
// of forms, of plain text, of its own reports, and none at all.
func (w *Web) CheckType(r *http.Request) error {
	t, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch t = strings.ToLower(strings.TrimSpace(t)); t {
	case "", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "text/ping", "application/csp-report":
		return refused("ContentTypeNotAllowed", fmt.Sprintf("the request writes and has the Content-Type %q, which any web page can send: without tokens it needs application/json", t))
	}
	return nil
}

func refused(detail, msg string) error {
	return graph.Forbidden(graph.PhaseCompile, detail, "%s", msg)
}
