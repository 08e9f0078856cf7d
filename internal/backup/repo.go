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

// Repo is a repository of backups.
type Repo struct {
	name    string
	bucket  *blob.Bucket
	dir     string // for a directory, otherwise ""
	written []string
}

// Open opens a repository: a directory, a file:// URL, or a bucket with a folder, such as s3://bucket/folder. The program must have
// registered the bucket's driver. create creates a missing directory.
func Open(ctx context.Context, dest string, create bool) (*Repo, error) {
	if dest == "" {
		return nil, errors.New("the directory or URL is missing")
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

// OpenBucket returns a repository in a bucket. Close closes the bucket.
func OpenBucket(b *blob.Bucket) *Repo { return &Repo{name: "bucket", bucket: b} }

func openDir(name, dir string, create bool) (*Repo, error) {
	b, err := bucket.OpenDir(dir, create)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return &Repo{name: name, bucket: b, dir: dir}, nil
}

// Close closes the repository.
func (r *Repo) Close() error { return r.bucket.Close() }

// sync makes files in a directory durable; objects in a bucket are durable once written.
func (r *Repo) sync() error {
	if r.dir == "" {
		return nil
	}
	dirs := map[string]bool{r.dir: true, filepath.Dir(filepath.Clean(r.dir)): true}
	for _, name := range r.written {
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
	r.written = r.written[:0]
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

// write writes an object atomically.
func (r *Repo) write(ctx context.Context, name string, fill func(w io.Writer) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := r.bucket.NewWriter(ctx, name, &blob.WriterOptions{ContentType: "application/octet-stream", DisableContentTypeDetection: true})
	if err != nil {
		return fmt.Errorf("%s: write %s: %w", r.name, name, err)
	}
	if err := fill(w); err != nil {
		cancel() // so that Close discards the data
		_ = w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: write %s: %w", r.name, name, err)
	}
	if r.dir != "" {
		r.written = append(r.written, name)
	}
	return nil
}

// list calls f for each object with a prefix.
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
