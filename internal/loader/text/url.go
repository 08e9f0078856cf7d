package text

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http" //nolint:depguard // It is a client here.
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/bucket"
	"github.com/hopgate/hopgate/internal/loader/mapping"
)

// IsURL reports whether an input path is an HTTP URL or an object store's.
func IsURL(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") || bucket.IsURL(name)
}

// FileName returns the part of a path or URL that holds the extensions.
func FileName(name string) string {
	if !IsURL(name) {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return name
	}
	return path.Base(u.Path)
}

// get requests a URL from an offset; the caller closes the response body. Nothing asks by HEAD, which some servers refuse.
func get(ctx context.Context, client *http.Client, name string, offset int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, name, nil)
	if err != nil {
		return nil, err
	}
	// Ask for the stored bytes, not for a proxy's compression of them.
	req.Header.Set("Accept-Encoding", "identity")
	if offset > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	resp, err := client.Do(req)
	if err != nil {
		if fault, ok := errors.AsType[*url.Error](err); ok {
			fault.URL = Shown(name)
		}
		return nil, err
	}
	if resp.StatusCode != http.StatusOK && (offset == 0 || resp.StatusCode != http.StatusPartialContent) {
		return nil, errors.Join(fmt.Errorf("%s: the server answers %s", Shown(name), resp.Status), resp.Body.Close())
	}
	if r := resp.Header.Get("Content-Range"); resp.StatusCode == http.StatusPartialContent && !strings.HasPrefix(r, fmt.Sprintf("bytes %d-", offset)) {
		return nil, errors.Join(fmt.Errorf("%s: the server answers the range %q, not that from byte %d", Shown(name), r, offset), resp.Body.Close())
	}
	return resp, nil
}

// Shown returns a URL without parts that may be secret.
func Shown(name string) string {
	if u, err := url.Parse(name); err == nil {
		u.RawQuery, u.User = "", nil
		return u.String()
	}
	return name
}

// OpenURL reads what is stored at a URL until ctx ends or the server sends nothing for two minutes. Errors show no user and query.
func OpenURL(ctx context.Context, client *http.Client, name string) (io.ReadCloser, error) {
	return openURLAt(ctx, client, name, 0)
}

func openURL(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	return openURLAt(ctx, http.DefaultClient, name, offset)
}

// openURLAt reads a URL from an offset. If the server does not support ranges, it reads from the start and skips.
func openURLAt(ctx context.Context, client *http.Client, name string, offset int64) (io.ReadCloser, error) {
	if bucket.IsURL(name) {
		body, err := bucket.Read(ctx, name, offset)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Shown(name), err)
		}
		return body, nil
	}
	skip := int64(0)
	body, err := bucket.Patient(ctx, func(ctx context.Context) (io.ReadCloser, error) {
		resp, err := get(ctx, client, name, offset)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusOK {
			skip = offset
		}
		return resp.Body, nil
	})
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, body, skip); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: go on at byte %d: %w", Shown(name), offset, err), body.Close())
	}
	return body, nil
}

// SizeURL returns the size of a URL's content, or 0 if the server does not say.
func SizeURL(ctx context.Context, name string) (int64, error) {
	if bucket.IsURL(name) {
		o, err := bucket.Stat(ctx, name)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", Shown(name), err)
		}
		return o.Size, nil
	}
	var size int64
	body, err := bucket.Patient(ctx, func(ctx context.Context) (io.ReadCloser, error) {
		resp, err := get(ctx, http.DefaultClient, name, 0)
		if err != nil {
			return nil, err
		}
		size = max(0, resp.ContentLength)
		return resp.Body, nil
	})
	if err != nil {
		return 0, err
	}
	return size, body.Close()
}

// SampleURL hashes the properties that change with the content of a URL: size, tag, time and beginning.
func SampleURL(ctx context.Context, h hash.Hash, name string) error {
	if bucket.IsURL(name) {
		o, err := bucket.Stat(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", Shown(name), err)
		}
		fmt.Fprintf(h, "%d %q %d ", o.Size, o.Tag, o.Time.UnixNano())
		body, err := openURL(ctx, name, 0)
		if err != nil {
			return err
		}
		return hashBeginning(h, body)
	}
	body, err := bucket.Patient(ctx, func(ctx context.Context) (io.ReadCloser, error) {
		resp, err := get(ctx, http.DefaultClient, name, 0)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(h, "%d %q %q ", resp.ContentLength, resp.Header.Get("ETag"), resp.Header.Get("Last-Modified"))
		return resp.Body, nil
	})
	if err != nil {
		return err
	}
	return hashBeginning(h, body)
}

// SampleBytes is how much of each end of a file goes into its identity.
const SampleBytes = 1 << 16

// hashBeginning hashes the beginning of text and closes it.
func hashBeginning(h hash.Hash, body io.ReadCloser) error {
	_, err := io.CopyN(h, body, SampleBytes)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, body.Close())
}

// objects resolves an object store URL: an object, a folder (ending with a slash) whose objects have the extension of a format, or a
// pattern.
func objects(ctx context.Context, name string) ([]string, error) {
	u, err := url.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("%s: this is not a URL", Shown(name))
	}
	folder := u.Path == "" || strings.HasSuffix(u.Path, "/")
	if !folder && !strings.ContainsAny(u.Path, "*[") {
		return []string{name}, nil
	}
	names, err := bucket.List(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Shown(name), err)
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		return folder && FormatOf(n) == mapping.Auto || FileName(n) == RejectsName
	})
	if len(names) == 0 {
		return nil, fmt.Errorf("no object matches %s", Shown(name))
	}
	return names, nil
}
