package kv

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
)

// A seal is a file that a store leaves behind when it is closed: the checksums and sizes of its logs and manifests. Pebble takes a damaged
// record of these for a write torn by a crash and drops the rest, so commits or whole tables would silently disappear. After a crash there
// is no seal.
const sealName = "SEAL"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sums returns a line for each log and manifest of a store, and after them one for the lines.
func sums(fsys vfs.FS, dir string) ([]byte, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var out []byte
	for _, name := range names {
		if path.Ext(name) != ".log" && !strings.HasPrefix(name, "MANIFEST-") {
			continue
		}
		f, err := fsys.Open(fsys.PathJoin(dir, name))
		if err != nil {
			return nil, err
		}
		h := crc32.New(castagnoli)
		n, err := io.Copy(h, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		out = fmt.Appendf(out, "%s %08x %d\n", name, h.Sum32(), n)
	}
	return fmt.Appendf(out, "%s %08x %d\n", sealName, crc32.Checksum(out, castagnoli), len(out)), nil
}

// Seal seals a closed store.
func Seal(fsys vfs.FS, dir string) error {
	lines, err := sums(fsys, dir)
	if err != nil {
		return err
	}
	name := fsys.PathJoin(dir, sealName)
	f, err := fsys.Create(name+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(name+".new", name); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}

// VerifySeal compares a store that is about to be opened with its seal, if it has one.
func VerifySeal(fsys vfs.FS, dir string) error {
	name := fsys.PathJoin(dir, sealName)
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	sealed, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	bad := func(file, what string) error {
		return graph.CorruptError("storage: open "+dir, fmt.Errorf("file %s: %s", fsys.PathJoin(dir, file), what))
	}
	end := bytes.LastIndexByte(bytes.TrimSuffix(sealed, []byte{'\n'}), '\n') + 1
	if want := fmt.Sprintf("%s %08x %d\n", sealName, crc32.Checksum(sealed[:end], castagnoli), end); want != string(sealed[end:]) {
		return bad(sealName, "the seal has changed since the store was closed")
	}
	now, err := sums(fsys, dir)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(sealed[:end]) {
		if !bytes.Contains(now, line) {
			file, _, _ := strings.Cut(string(line), " ")
			return bad(file, "it has changed since the store was closed; commits may be missing")
		}
	}
	return nil
}

// BreakSeal removes the seal of a store that is about to change.
func BreakSeal(fsys vfs.FS, dir string) error {
	err := fsys.Remove(fsys.PathJoin(dir, sealName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncDir(fsys, dir)
	}
	return err
}

func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
