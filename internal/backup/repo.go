package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/hopgate/hopgate/internal/bucket"
)

// Repo is a place that holds backups.
type Repo struct {
	name   string
	bucket *blob.Bucket
	dir    string // of a repository that is a directory, else ""
	fresh  []string
}

// Open opens a repository: a directory, or a URL that names one (file://) or a bucket with a folder in it, as
// s3://bucket/folder. A bucket's driver must have been registered. create makes a directory that is not there.
func Open(ctx context.Context, dest string, create bool) (*Repo, error) {
	if dest == "" {
		return nil, errors.New("no directory or URL is named")
	}
	switch file, ok, err := bucket.FilePath(dest); {
	case err != nil:
		return nil, err
	case ok:
		return openDir(dest, file, create)
	}
	if u, err := url.Parse(dest); err != nil || u.Scheme == "" {
		return openDir(dest, dest, create)
	}
	b, folder, err := bucket.Open(ctx, dest)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dest, err)
	}
	if folder = strings.Trim(folder, "/"); folder != "" {
		b = blob.PrefixedBucket(b, folder+"/")
	}
	return &Repo{name: dest, bucket: b}, nil
}

// OpenBucket makes a repository of a bucket, which it closes.
func OpenBucket(b *blob.Bucket) *Repo { return &Repo{name: "bucket", bucket: b} }

func openDir(name, dir string, create bool) (*Repo, error) {
	b, err := bucket.OpenDir(dir, create)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return &Repo{name: name, bucket: b, dir: dir}, nil
}

// Close ends the use of the repository.
func (r *Repo) Close() error { return r.bucket.Close() }

// sync makes what was written to a directory durable; a bucket's objects are when they are written.
func (r *Repo) sync() error {
	if r.dir == "" {
		return nil
	}
	dirs := map[string]bool{r.dir: true, filepath.Dir(filepath.Clean(r.dir)): true}
	for _, name := range r.fresh {
		at := filepath.Join(r.dir, filepath.FromSlash(name))
		if err := syncFile(at); err != nil {
			return err
		}
		dirs[filepath.Dir(at)] = true
	}
	for d := range dirs {
		if err := syncFile(d); err != nil {
			return err
		}
	}
	r.fresh = r.fresh[:0]
	return nil
}

// syncFile makes a file, or the names in a directory, durable.
func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// write writes an object, whole or not at all.
func (r *Repo) write(ctx context.Context, name string, fill func(w io.Writer) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := r.bucket.NewWriter(ctx, name, &blob.WriterOptions{ContentType: "application/octet-stream", DisableContentTypeDetection: true})
	if err != nil {
		return fmt.Errorf("%s: write %s: %w", r.name, name, err)
	}
	if err := fill(w); err != nil {
		cancel() // so that Close throws away what was written
		_ = w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: write %s: %w", r.name, name, err)
	}
	if r.dir != "" {
		r.fresh = append(r.fresh, name)
	}
	return nil
}

// list calls f with each object whose name begins with prefix.
func (r *Repo) list(ctx context.Context, prefix string, f func(name string, size int64) error) error {
	it := r.bucket.List(&blob.ListOptions{Prefix: prefix})
	for {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: list %s: %w", r.name, prefix, err)
		}
		if err := f(o.Key, o.Size); err != nil {
			return err
		}
	}
}

func isNotFound(err error) bool { return gcerrors.Code(err) == gcerrors.NotFound }
