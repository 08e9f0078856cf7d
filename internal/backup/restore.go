package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// partial is the directory in which Restore builds a store, so that an interrupted one cannot be mistaken for a store.
const partial = "restore.partial"

// restored is what a restore moves to the data directory; finish makes all but the files of the backup.
var restored = []string{"graphs", "replicas", "log"}

// Restore writes the files of a backup to a data directory, which must be empty or missing. format is the layout that this program
// supports. Restore verifies all files before it writes the first, and again while it writes. finish, if not nil, is called with the
// directory of the files before they move to their place.
func (r *Repo) Restore(ctx context.Context, m *Manifest, dir string, format int, finish func(dir string) error, progress func(bytes int64)) error {
	if m.Format > format {
		return fmt.Errorf("%s: the backup %s (%s) has the format %d; this program reads %d", r.name, m.ID, manifestName(m.ID), m.Format, format)
	}
	if err := empty(dir); err != nil {
		return err
	}
	if err := r.Verify(ctx, m, progress); err != nil {
		return err
	}
	partial := filepath.Join(dir, partial)
	errs := []error{os.RemoveAll(partial)}
	for _, name := range restored {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, name)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return err
	}
	// The marker must be durable before any file that could be mistaken for a store.
	if err := errors.Join(syncFile(dir), syncFile(filepath.Dir(filepath.Clean(dir)))); err != nil {
		return err
	}
	err := r.fill(ctx, m, partial, progress)
	if err == nil && finish != nil {
		err = finish(partial)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(partial))
	}
	for _, name := range restored {
		if err := os.Rename(filepath.Join(partial, name), filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := syncFile(dir); err != nil {
		return err
	}
	return errors.Join(os.Remove(partial), syncFile(dir))
}

// empty checks that a directory contains nothing, except an interrupted restore, which the partial directory marks.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	interrupted := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == partial })
	for _, e := range entries {
		if !interrupted || e.Name() != partial && !slices.Contains(restored, e.Name()) {
			return fmt.Errorf("the directory %s is not empty: it holds %s", dir, e.Name())
		}
	}
	return nil
}

// fill writes all files below a directory.
func (r *Repo) fill(ctx context.Context, m *Manifest, dir string, progress func(bytes int64)) error {
	dirs := map[string]bool{dir: true}
	for _, f := range m.Files {
		at := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		for d := filepath.Dir(at); !dirs[d]; d = filepath.Dir(d) {
			dirs[d] = true
		}
		out, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		err = r.copyTo(ctx, f, out)
		if err == nil {
			err = out.Sync()
		}
		if err = errors.Join(err, out.Close()); err != nil {
			return err
		}
		if progress != nil {
			progress(f.Size)
		}
	}
	for d := range dirs {
		if err := syncFile(d); err != nil {
			return err
		}
	}
	return nil
}
