package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Missing returns the indexes of files whose contents the repository lacks, once for each content.
func (r *Repo) Missing(ctx context.Context, files []File) ([]int, error) {
	have := map[string]int64{}
	err := r.list(ctx, "files/", func(name string, size int64) error {
		have[name] = size
		return nil
	})
	if err != nil {
		return nil, err
	}
	var missing []int
	for i, f := range files {
		name := objectName(f.SHA256)
		if size, ok := have[name]; ok && size == f.Size {
			continue
		}
		have[name] = f.Size
		missing = append(missing, i)
	}
	return missing, nil
}

// Put stores the content of a file, which fill writes.
func (r *Repo) Put(ctx context.Context, f File, fill func(w io.Writer) error) error {
	return r.write(ctx, objectName(f.SHA256), func(w io.Writer) error {
		h := sha256.New()
		n := &counter{}
		if err := fill(io.MultiWriter(w, h, n)); err != nil {
			return err
		}
		if n.n != f.Size || hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
			return fmt.Errorf("%s was damaged in transit", f.Path)
		}
		return nil
	})
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// copyTo copies a file's content to w and verifies it.
func (r *Repo) copyTo(ctx context.Context, f File, w io.Writer) error {
	name := objectName(f.SHA256)
	rd, err := r.bucket.NewReader(ctx, name, nil)
	if isNotFound(err) {
		return fmt.Errorf("%s: the file %s of the backup (%s) is missing", r.name, f.Path, name)
	}
	if err != nil {
		return fmt.Errorf("%s: read %s: %w", r.name, name, err)
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), rd)
	if err = errors.Join(err, rd.Close()); err != nil {
		return fmt.Errorf("%s: read %s: %w", r.name, name, err)
	}
	if n != f.Size || hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
		return fmt.Errorf("%s: the file %s of the backup (%s) is damaged: its checksum is wrong", r.name, f.Path, name)
	}
	return nil
}

// Verify reads all files of a backup and returns all errors, joined. If progress is not nil, it receives the bytes read.
func (r *Repo) Verify(ctx context.Context, m *Manifest, progress func(bytes int64)) error {
	var errs []error
	done := map[string]bool{}
	for _, f := range m.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if done[f.SHA256] {
			continue
		}
		done[f.SHA256] = true
		if err := r.copyTo(ctx, f, io.Discard); err != nil {
			errs = append(errs, err)
		}
		if progress != nil {
			progress(f.Size)
		}
	}
	return errors.Join(errs...)
}
