package resource

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/bucket"
)

// List holds the URLs that statements may read. The zero value holds none.
type List struct {
	prefixes []prefix
	networks []netip.Prefix // whose addresses may be hosts, and may be what the names of hosts resolve to
}

// prefix holds the URLs that begin with it.
type prefix struct {
	scheme, host, port string // port is "" for the default one
	path               string // whole segments
	options            string // the query of an object store's URL
}

// ParseList parses a comma-separated list of prefixes of URLs, hosts, addresses and networks, such as
//
//	https://data.example.com/csv/,s3://bucket/people/?region=eu-west-1,*.example.org,files.internal:8080,10.1.0.0/16
//
// It returns the errors of all entries, joined.
func ParseList(text string) (List, error) {
	var l List
	var errs []error
	for e := range strings.SplitSeq(text, ",") {
		if e = strings.TrimSpace(e); e != "" {
			errs = append(errs, l.add(e))
		}
	}
	return l, errors.Join(errs...)
}

func (l *List) add(entry string) error {
	if n, err := netip.ParsePrefix(entry); err == nil {
		l.networks = append(l.networks, n.Masked())
		return nil
	}
	if a, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil && a.Zone() == "" {
		l.networks = append(l.networks, netip.PrefixFrom(a, a.BitLen()))
		return nil
	}
	names := []string{entry}
	if !strings.Contains(entry, "://") {
		if strings.ContainsAny(entry, "/?#") {
			return badEntry(entry)
		}
		names = []string{"http://" + entry, "https://" + entry}
	}
	for _, name := range names {
		u, err := url.Parse(name)
		store := bucket.IsURL(name)
		if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" || !store && (!isWeb(u) || u.RawQuery != "") || hasDots(u.Path) {
			return badEntry(entry)
		}
		l.prefixes = append(l.prefixes, prefix{u.Scheme, hostOf(u), portOf(u), u.Path, u.RawQuery})
	}
	return nil
}

func badEntry(entry string) error {
	return fmt.Errorf("%q is no prefix of URLs (http, https, s3, gs, azblob), host, address or network", entry)
}

// find returns the options with which a URL is opened if the list holds it.
func (l *List) find(u *url.URL) (options string, ok bool) {
	if hasDots(u.Path) {
		return "", false
	}
	i := slices.IndexFunc(l.prefixes, func(p prefix) bool { return p.holds(u) })
	if i >= 0 {
		return l.prefixes[i].options, true
	}
	a, err := netip.ParseAddr(u.Hostname())
	return "", err == nil && isWeb(u) && slices.ContainsFunc(l.networks, func(n netip.Prefix) bool { return n.Contains(a.Unmap()) })
}

func (p *prefix) holds(u *url.URL) bool {
	if p.scheme != u.Scheme || p.port != portOf(u) || !holdsHost(p.host, hostOf(u)) {
		return false
	}
	rest, ok := strings.CutPrefix(u.Path, p.path)
	return ok && (rest == "" || p.path == "" || strings.HasSuffix(p.path, "/") || rest[0] == '/')
}

// holdsHost reports whether host is listed as itself or, if it is a name, by a pattern: *.example.com, or * for every name.
func holdsHost(listed, host string) bool {
	suffix, pattern := strings.CutPrefix(listed, "*")
	if !pattern {
		return listed == host
	}
	_, err := netip.ParseAddr(host)
	return err != nil && strings.HasSuffix(host, suffix) && len(host) > len(suffix)
}

func isWeb(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// hostOf returns the host of a URL in the one form in which hosts compare.
func hostOf(u *url.URL) string {
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		return a.Unmap().String()
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// portOf returns the port of a URL; "" is the default of its scheme.
func portOf(u *url.URL) string {
	if p := u.Port(); p != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		return p
	}
	return ""
}

// hasDots reports whether a server may take a path for one outside of its beginning.
func hasDots(path string) bool {
	segments := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	return slices.Contains(segments, "..")
}
