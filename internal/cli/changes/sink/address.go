package sink

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The environment has what a command line must not.
const (
	passwordVariable = "GRAPHCTL_SINK_PASSWORD" //nolint:gosec // a name
	tokenVariable    = "GRAPHCTL_SINK_TOKEN"    //nolint:gosec // a name
)

// address is where a sink is, and how to get there.
type address struct {
	scheme string   // kafka or nats
	user   string   // "": none
	hosts  []string // with ports
	target string   // the topic or subject
	params params
}

var ports = map[string]string{"kafka": "9092", "nats": "4222"}

// parseAddress reads SCHEME://[USER@]HOST[:PORT][,HOST[:PORT]…]/TARGET[?PARAMETER=VALUE&…].
func parseAddress(text string) (address, error) {
	var a address
	rest, ok := "", false
	if a.scheme, rest, ok = strings.Cut(text, "://"); !ok || ports[a.scheme] == "" {
		return a, fmt.Errorf("%q: must begin with kafka:// or nats://", redact(text))
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, target, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, err := url.PathUnescape(authority[:at])
		if err != nil {
			return a, errors.New("the user: a % must begin an escape, such as %40")
		}
		if strings.Contains(authority[:at], ":") {
			return a, fmt.Errorf("a password must not be on a command line: set %s, or name a file by password.file", passwordVariable)
		}
		a.user, authority = user, authority[at+1:]
	}
	for host := range strings.SplitSeq(authority, ",") {
		if !strings.HasPrefix(host, "[") && !strings.Contains(host, ":") || strings.HasSuffix(host, "]") {
			host = net.JoinHostPort(strings.Trim(host, "[]"), ports[a.scheme])
		}
		name, port, err := net.SplitHostPort(host)
		if n, e := strconv.ParseUint(port, 10, 16); err != nil || name == "" || e != nil || n == 0 {
			return a, fmt.Errorf("%q is no HOST:PORT", host)
		}
		a.hosts = append(a.hosts, host)
	}
	var err error
	if a.target, err = url.PathUnescape(target); err != nil || a.target == "" || strings.ContainsAny(a.target, "/ \t\r\n") {
		return a, fmt.Errorf("one %s must follow the hosts, as in %s://%s/changes", map[string]string{"kafka": "topic", "nats": "subject"}[a.scheme], a.scheme, a.hosts[0])
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return a, errors.New("the parameters: must be NAME=VALUE, joined by &, with escapes such as %26")
	}
	a.params = params{values: values}
	return a, nil
}

// redact keeps what may be a password out of messages.
func redact(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		return "…" + text[at:]
	}
	return text
}

// params reads parameters. Its first error is kept.
type params struct {
	values url.Values
	known  []string
	err    error
}

func (p *params) text(name, usual string, among ...string) string {
	p.known = append(p.known, name)
	list, ok := p.values[name]
	if !ok {
		return usual
	}
	v := list[len(list)-1]
	switch {
	case len(list) > 1:
		p.fail("%s: given more than once", name)
	case len(among) > 0 && !slices.Contains(among, v):
		p.fail("%s: must be one of %s, was %q", name, strings.Join(among, ", "), v)
	case v == "":
		p.fail("%s: must not be empty", name)
	}
	return v
}

func (p *params) boolean(name string, usual bool) bool {
	return p.text(name, strconv.FormatBool(usual), "true", "false") == "true"
}

// number reads a number from least to most.
func (p *params) number(name string, usual, least, most int64) int64 {
	n, err := strconv.ParseInt(p.text(name, strconv.FormatInt(usual, 10)), 10, 64)
	if err != nil || n < least || n > most {
		p.fail("%s: must be a number from %d to %d, was %q", name, least, most, p.values.Get(name))
	}
	return n
}

func (p *params) milliseconds(name string, usual, least, most time.Duration) time.Duration {
	return time.Duration(p.number(name, usual.Milliseconds(), least.Milliseconds(), most.Milliseconds())) * time.Millisecond
}

// secret reads a secret from the file that a parameter names, or else from the environment; "": there is none.
func (p *params) secret(name, variable string) string {
	file := p.text(name, "")
	if file == "" {
		return os.Getenv(variable)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		p.fail("%s: %w", name, err)
	}
	return strings.TrimRight(string(b), "\r\n")
}

// tls reads the files of certificates.
func (p *params) tls(ca, cert, key string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := p.text(ca, ""); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ca, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: %s holds no certificate", ca, file)
		}
	}
	certFile, keyFile := p.text(cert, ""), p.text(key, "")
	if certFile != "" || keyFile != "" {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", cert, key, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func (p *params) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// end returns the first error, or one about a parameter that nothing has asked for.
func (p *params) end() error {
	if p.err != nil {
		return p.err
	}
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		if !slices.Contains(p.known, name) {
			slices.Sort(p.known)
			return fmt.Errorf("%s: there is no such parameter, but %s", name, strings.Join(p.known, ", "))
		}
	}
	return nil
}
