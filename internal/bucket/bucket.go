// Package bucket opens the URLs of object stores and their objects. Programs import the drivers of stores.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/gcerrors"
)

// IsURL reports whether a name is the URL of an object store or of an object, such as s3://bucket/key.
func IsURL(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok || scheme == "file" {
		return false
	}
	switch scheme {
	case "s3", "gs", "azblob":
		return true
	}
	return blob.DefaultURLMux().ValidBucketScheme(scheme)
}

// FilePath returns the path of a file:// URL; ok is false for other names.
func FilePath(name string) (file string, ok bool, err error) {
	if !strings.HasPrefix(name, "file:") {
		return "", false, nil
	}
	u, err := url.Parse(name)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", true, fmt.Errorf("%s: must be file:// and an absolute path", name)
	}
	return filepath.FromSlash(u.Path), true, nil
}

// Open opens the bucket of a URL and returns the key or folder in it.
func Open(ctx context.Context, name string) (b *blob.Bucket, key string, err error) {
	u, err := url.Parse(name)
	if err != nil {
		return nil, "", errors.New("this is not a URL")
	}
	key = strings.TrimPrefix(u.Path, "/")
	if tag := map[string]string{"gs": "gcs", "azblob": "azure"}[u.Scheme]; tag != "" && !blob.DefaultURLMux().ValidBucketScheme(u.Scheme) {
		return nil, "", fmt.Errorf("%s:// is not built in; build with -tags %s", u.Scheme, tag)
	}
	u.Path, u.RawPath = "", ""
	b, err = blob.OpenBucket(ctx, u.String())
	return b, key, err
}

// OpenDir opens a directory as a bucket. create creates a missing one.
func OpenDir(dir string, create bool) (*blob.Bucket, error) {
	return fileblob.OpenBucket(dir, &fileblob.Options{
		CreateDir: create, DirFileMode: 0o755, NoTempDir: true, Metadata: fileblob.MetadataDontWrite,
	})
}

// IsNotFound reports whether an error says that there is no such object.
func IsNotFound(err error) bool { return gcerrors.Code(err) == gcerrors.NotFound }

// Object describes an object.
type Object struct {
	Size int64 // in bytes
	Tag  string
	Time time.Time
}

// Stat describes an object. It has no tag if the store refuses to describe objects.
func Stat(ctx context.Context, name string) (o Object, err error) {
	b, key, err := Open(ctx, name)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	ctx, cancel := within(ctx)
	defer cancel()
	if a, err := b.Attributes(ctx, key); err == nil {
		return Object{a.Size, a.ETag, a.ModTime}, nil
	}
	// Some stores grant reading alone.
	r, err := b.NewReader(ctx, key, nil)
	if err != nil {
		return o, lateness(ctx, err)
	}
	return Object{Size: r.Size(), Time: r.ModTime()}, r.Close()
}

// reader also closes its bucket.
type reader struct {
	*blob.Reader
	bucket *blob.Bucket
	at     int64 // the offset of the next byte
}

// Read implements io.Reader. A body that ends before the size of the object is an error.
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.at += int64(n)
	if errors.Is(err, io.EOF) && r.at < r.Size() {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close implements io.Closer.
func (r *reader) Close() error { return errors.Join(r.Reader.Close(), r.bucket.Close()) }

// Read reads an object from an offset, with Patient; beyond the end it is empty.
func Read(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	if offset > 0 {
		o, err := Stat(ctx, name)
		if err != nil {
			return nil, err
		}
		if offset >= o.Size {
			return io.NopCloser(strings.NewReader("")), nil
		}
	}
	return Patient(ctx, func(ctx context.Context) (io.ReadCloser, error) {
		b, key, err := Open(ctx, name)
		if err != nil {
			return nil, err
		}
		r, err := b.NewRangeReader(ctx, key, offset, -1, nil)
		if err != nil {
			return nil, errors.Join(err, b.Close())
		}
		return &reader{r, b, offset}, nil
	})
}

// List returns the URLs of the objects in the folder of a URL, or of those that match the pattern in its path.
func List(ctx context.Context, name string) (names []string, err error) {
	b, pattern, err := Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	u, err := url.Parse(name)
	if err != nil {
		return nil, err
	}
	prefix := pattern
	i := strings.IndexAny(pattern, "*[")
	if i >= 0 {
		prefix = pattern[:i]
	}
	it := b.List(&blob.ListOptions{Prefix: prefix})
	for {
		o, err := next(ctx, it)
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			if ok, err := path.Match(pattern, o.Key); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
		}
		u.Path, u.RawPath = "/"+o.Key, ""
		names = append(names, u.String())
	}
}

// next returns the next object of a list.
func next(ctx context.Context, it *blob.ListIterator) (*blob.ListObject, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	o, err := it.Next(ctx)
	return o, lateness(ctx, err)
}
