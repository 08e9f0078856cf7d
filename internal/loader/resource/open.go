package resource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http" //nolint:depguard // It is a client here.
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"code.dny.dev/ssrf"

	"github.com/hopgate/hopgate/internal/bucket"
	"github.com/hopgate/hopgate/internal/loader/text"
)

const (
	connectTimeout = 10 * time.Second
	maxRedirects   = 5
)

// Opener opens what statements name.
type Opener struct {
	dir    string
	list   List
	client *http.Client
}

// NewOpener opens the files below dir, or none if that is "", and the URLs of a list.
func NewOpener(dir string, list List) *Opener {
	o := &Opener{dir: dir, list: list}
	o.client = &http.Client{
		CheckRedirect: o.redirect,
		// There is no proxy, since it would resolve the names of hosts by itself.
		Transport: &http.Transport{DialContext: list.dialer(), TLSHandshakeTimeout: connectTimeout, DisableKeepAlives: true},
	}
	return o
}

// dialer connects to a host that is an address, since the list has held it, and to one with a name only at permitted addresses.
func (l *List) dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	var v4, v6 []netip.Prefix
	for _, n := range l.networks {
		if n.Addr().Is4() {
			v4 = append(v4, n)
		} else {
			v6 = append(v6, n)
		}
	}
	guard := ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))
	listed := net.Dialer{Timeout: connectTimeout}
	named := net.Dialer{Timeout: connectTimeout, Control: guard.Safe}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if _, err := netip.ParseAddrPort(address); err == nil {
			return listed.DialContext(ctx, network, address)
		}
		return named.DialContext(ctx, network, address)
	}
}

func (o *Opener) redirect(req *http.Request, via []*http.Request) error {
	req.Header.Del("Referer") // it holds the query of the URL before
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if _, ok := o.list.find(req.URL); !ok || !isWeb(req.URL) {
		return fmt.Errorf("the redirect to %s is not allowed by load-csv-sources", text.Shown(req.URL.String()))
	}
	return nil
}

// Open opens a file or URL until ctx ends, and returns how messages name it. The file may be compressed, and in an encoding that
// text.GuessEncoding knows. Errors show no user and query of a URL.
func (o *Opener) Open(ctx context.Context, name string) (r io.ReadCloser, shown string, err error) {
	u, err := url.Parse(name)
	switch {
	case err != nil:
		before, _, _ := strings.Cut(name, "?")
		return nil, "", fmt.Errorf("%q is no URL and no path", before)
	case u.Scheme == "" && u.Host == "", u.Scheme == "file":
		shown = "/" + strings.TrimLeft(u.Path, "/")
		r, err = o.openFile(u)
	default:
		shown = text.Shown(u.String())
		r, err = o.openURL(ctx, u)
	}
	if err != nil {
		return nil, "", err
	}
	t, err := text.Decode(shown, r)
	if err != nil {
		return nil, "", err
	}
	return t, shown, nil
}

func (o *Opener) openFile(u *url.URL) (*os.File, error) {
	switch {
	case u.Host != "" && u.Host != "localhost":
		return nil, fmt.Errorf("%s: a file has no host: write file:/// and a path below import-dir", text.Shown(u.String()))
	case o.dir == "":
		return nil, errors.New("no import directory is configured (import-dir)")
	}
	root, err := os.OpenRoot(o.dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	name := filepath.FromSlash(strings.TrimLeft(u.Path, "/"))
	info, err := root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		// Opening a pipe would wait for its writer.
		return nil, fmt.Errorf("%q is not a regular file", u.Path)
	}
	f, err := root.Open(name)
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("cannot open %q in the import directory: %w", u.Path, fault.Err)
	}
	return f, err
}

func (o *Opener) openURL(ctx context.Context, u *url.URL) (io.ReadCloser, error) {
	shown := text.Shown(u.String())
	options, ok := o.list.find(u)
	switch {
	case !ok:
		return nil, fmt.Errorf("%s is not allowed by load-csv-sources", shown)
	case !isWeb(u) && u.RawQuery != "":
		return nil, fmt.Errorf("%s: the options of an object store belong in load-csv-sources, not in the URL", shown)
	case !isWeb(u):
		u.RawQuery = options
	}
	r, err := text.OpenURL(ctx, o.client, u.String())
	refused, dialed := errors.AsType[*net.OpError](err)
	switch {
	case bucket.IsNotFound(err):
		return nil, fmt.Errorf("%s does not exist", shown)
	case errors.Is(err, ssrf.ErrProhibitedIP) && dialed:
		return nil, fmt.Errorf("%s: the address %v is not public; load-csv-sources may name it or its network", shown, refused.Addr)
	}
	return r, err
}
