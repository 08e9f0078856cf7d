package loader

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// IsURL reports whether a path of an input is read by HTTP.
func IsURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// fileName gives the part of a path or URL that tells the format and the compression.
func fileName(name string) string {
	if !IsURL(name) {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return name
	}
	return path.Base(u.Path)
}

// ask sends a request for a URL; the caller closes the answer's body.
func ask(method, name string, offset int64) (*http.Response, error) {
	req, err := http.NewRequest(method, name, nil)
	if err != nil {
		return nil, err
	}
	// What is stored is wanted, and not what a proxy compresses on the way.
	req.Header.Set("Accept-Encoding", "identity")
	want := http.StatusOK
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		var fault *url.Error
		if errors.As(err, &fault) {
			fault.URL = shown(name)
		}
		return nil, err
	}
	if resp.StatusCode != want && (offset == 0 || resp.StatusCode != http.StatusPartialContent) {
		return nil, errors.Join(fmt.Errorf("%s: the server answers %s", shown(name), resp.Status), resp.Body.Close())
	}
	return resp, nil
}

// shown gives a URL without what may be secret in it.
func shown(name string) string {
	if u, err := url.Parse(name); err == nil {
		u.RawQuery, u.User = "", nil
		return u.String()
	}
	return name
}

// openURL reads a URL from an offset on, for which a server that knows no ranges is read from the beginning.
func openURL(name string, offset int64) (io.ReadCloser, error) {
	resp, err := ask(http.MethodGet, name, offset)
	if err != nil {
		return nil, err
	}
	if offset > 0 && resp.StatusCode == http.StatusOK {
		if _, err := io.CopyN(io.Discard, resp.Body, offset); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: go on at byte %d: %w", shown(name), offset, err), resp.Body.Close())
		}
	}
	return resp.Body, nil
}

// sizeURL gives the size of what a URL names, 0 if the server does not say.
func sizeURL(name string) (int64, error) {
	resp, err := ask(http.MethodHead, name, 0)
	if err != nil {
		return 0, err
	}
	return max(0, resp.ContentLength), resp.Body.Close()
}

// sampleURL hashes what tells whether the content of a URL has changed: its size, tag and time, and its beginning.
func sampleURL(h hash.Hash, name string) error {
	resp, err := ask(http.MethodGet, name, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%d %q %q ", resp.ContentLength, resp.Header.Get("ETag"), resp.Header.Get("Last-Modified"))
	_, err = io.CopyN(h, resp.Body, sampleBytes)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, resp.Body.Close())
}
