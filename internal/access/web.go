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

// Web decides which web pages may use a listener without authentication. A browser sends what any page requests, even to the loopback
// interface; Origin names the page's origin, and Host the host that the page addresses. A page whose own name resolves to this machine (DNS
// rebinding) has the listener's origin, so only Host reveals it. A nil Web admits only the listener's own pages.
type Web struct {
	origins map[string]bool
	hosts   []string
}

// NewWeb parses comma-separated lists of page origins (http-origins) and of host names that the listener accepts (http-hosts): names,
// *.NAME for all subdomains, or * for any.
func NewWeb(origins, hosts string) (*Web, error) {
	return NewOrigins("http-origins", origins, hosts)
}

// NewOrigins does so for another setting of origins, which errors name.
func NewOrigins(setting, origins, hosts string) (*Web, error) {
	w := &Web{origins: map[string]bool{}}
	for _, name := range split(hosts) {
		if rest := strings.TrimPrefix(strings.TrimPrefix(name, "*"), "."); name != "*" && (rest == "" || strings.ContainsAny(rest, "*:/ ")) {
			return nil, fmt.Errorf("http-hosts: must be host names without a port, such as graphs.example.com or *.example.com, has %q", name)
		}
		w.hosts = append(w.hosts, name)
	}
	for _, text := range split(origins) {
		u, err := url.Parse(text)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != text || strings.Contains(text, "*") {
			return nil, fmt.Errorf("%s: must be origins such as https://app.example.com, has %q", setting, text)
		}
		port := u.Port()
		if u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" { // browsers omit them
			text = strings.TrimSuffix(text, ":"+port)
		}
		w.origins[text] = true
	}
	return w, nil
}

// split returns the entries of a list in lower case.
func split(list string) (out []string) {
	for entry := range strings.SplitSeq(strings.ToLower(list), ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			out = append(out, entry)
		}
	}
	return out
}

// AllowsOrigin reports whether pages of a foreign origin may send requests and read responses.
func (w *Web) AllowsOrigin(origin string) bool {
	return w != nil && w.origins[strings.ToLower(origin)]
}

// Check rejects a request that may come from a page that is neither the listener's own nor permitted.
func (w *Web) Check(r *http.Request) error {
	if err := w.checkHost(r); err != nil {
		return err
	}
	return w.CheckOrigin(r)
}

// CheckOrigin rejects a request that may come from a page of a forbidden origin, to whatever host.
func (w *Web) CheckOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		// Another site can make a browser send requests without an Origin, for images for example. Following a link is harmless.
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

// CheckUpgrade rejects an upgrade to a WebSocket as Check does a request, but admits pages of permitted origins to any host, and pages of this
// machine, whatever their port.
func (w *Web) CheckUpgrade(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if w.AllowsOrigin(origin) {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && isLoopback(u.Hostname()) {
		return w.checkHost(r)
	}
	return w.Check(r)
}

// isLoopback reports whether a host name or address means the machine that uses it.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// checkHost rejects a request to a host that is not the listener's.
func (w *Web) checkHost(r *http.Request) error {
	if w.answersTo(r.Host) {
		return nil
	}
	return refused("HostNotAllowed", fmt.Sprintf("the host %q is refused: without tokens the server answers to localhost, to addresses and to the names in http-hosts", r.Host))
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

// CheckType rejects Content-Types of writing requests that a browser sends without a preflight: those of forms, plain text and browser
// reports, and a missing one.
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
