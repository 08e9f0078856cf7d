package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"gocloud.dev/blob"
)

// A backup counts on files that the repository has already, and a removal of old backups deletes those that no manifest names. Each
// writes its mark before it looks for marks of the other kind, so of two that overlap one at least sees the other, and gives way.
const (
	runningMarks = "running/"
	pruningMarks = "pruning/"
)

// staleMark is how old a mark is that counts no more: its program has died.
const staleMark = 48 * time.Hour

// ErrBusy says that old backups are not removed while other backups run, or the other way round.
var ErrBusy = errors.New("another backup or a removal of old backups is in progress")

// Begin marks that a backup with an id runs, until the caller calls end. It fails while old backups are removed.
func (r *Repo) Begin(ctx context.Context, id string) (end func(ctx context.Context) error, err error) {
	name := runningMarks + id
	end = func(ctx context.Context) error { return r.remove(ctx, name) }
	if err := r.mark(ctx, name); err != nil {
		return nil, err
	}
	busy, err := r.marked(ctx, pruningMarks, "")
	if err == nil && busy {
		err = fmt.Errorf("%s: %w", r.name, ErrBusy)
	}
	if err != nil {
		return nil, errors.Join(err, end(context.WithoutCancel(ctx)))
	}
	return end, nil
}

// Prune removes all backups but the newest, and the files that only those had. It returns the ids of the backups, and the number and size of
// the files.
func (r *Repo) Prune(ctx context.Context, keep int) (ids []string, files int, bytes int64, err error) {
	if keep < 1 {
		return nil, 0, 0, errors.New("keep one backup at least")
	}
	all, err := r.IDs(ctx)
	if err != nil || len(all) <= keep {
		return nil, 0, 0, err
	}
	own := fmt.Sprintf("%s%016x", pruningMarks, rand.Uint64())
	if err := r.mark(ctx, own); err != nil {
		return nil, 0, 0, err
	}
	defer func() { err = errors.Join(err, r.remove(context.WithoutCancel(ctx), own)) }()
	for _, marks := range []string{pruningMarks, runningMarks} {
		busy, err := r.marked(ctx, marks, own)
		if err == nil && busy {
			err = fmt.Errorf("%s: %w", r.name, ErrBusy)
		}
		if err != nil {
			return nil, 0, 0, err
		}
	}
	if all, err = r.IDs(ctx); err != nil { // those that have ended since
		return nil, 0, 0, err
	}
	used := map[string]bool{}
	for _, id := range all[len(all)-keep:] {
		m, err := r.Manifest(ctx, id) // an unreadable one may name any file
		if err != nil {
			return nil, 0, 0, err
		}
		for _, f := range m.Files {
			used[objectName(f.SHA256)] = true
		}
	}
	for _, id := range all[:len(all)-keep] {
		if err := r.remove(ctx, manifestName(id)); err != nil {
			return ids, 0, 0, err
		}
		ids = append(ids, id)
	}
	if err := r.sync(); err != nil {
		return ids, 0, 0, err
	}
	err = r.list(ctx, "files/", func(name string, size int64) error {
		if used[name] {
			return nil
		}
		files, bytes = files+1, bytes+size
		return r.remove(ctx, name)
	})
	if err != nil {
		return ids, files, bytes, err
	}
	oldest, err := r.Manifest(ctx, all[len(all)-keep])
	if err != nil {
		return ids, files, bytes, err
	}
	n, size, err := r.pruneLogs(ctx, oldest.Taken)
	return ids, files + n, bytes + size, err
}

func (r *Repo) mark(ctx context.Context, name string) error {
	return r.write(ctx, name, func(w io.Writer) error {
		_, err := io.WriteString(w, "\n")
		return err
	})
}

// marked reports whether there is a mark of a kind besides the own one, and removes stale ones.
func (r *Repo) marked(ctx context.Context, prefix, own string) (bool, error) {
	for it := r.bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("%s: list %s: %w", r.name, prefix, err)
		}
		if o.Key == own {
			continue
		}
		if time.Since(o.ModTime) < staleMark {
			return true, nil
		}
		if err := r.remove(ctx, o.Key); err != nil {
			return false, err
		}
	}
}

// remove removes an object, which may be gone already.
func (r *Repo) remove(ctx context.Context, name string) error {
	r.written = slices.DeleteFunc(r.written, func(w string) bool { return w == name })
	if err := r.bucket.Delete(ctx, name); err != nil && !isNotFound(err) {
		return fmt.Errorf("%s: remove %s: %w", r.name, name, err)
	}
	return nil
}
