package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// version is the version of the repository's format.
const version = 1

// Manifest describes a backup.
type Manifest struct {
	ID    string    `json:"id"`
	Taken time.Time `json:"taken"`
	// Format is the version of the data directory's layout.
	Format int      `json:"format"`
	Graphs []string `json:"graphs"`
	Files  []File   `json:"files"`
}

// File is a file of a backup.
type File struct {
	Path   string `json:"path"` // relative to the data directory, with slashes
	Size   int64  `json:"size"` // in bytes
	SHA256 string `json:"sha256"`
}

// Bytes returns the total size of the files.
func (m *Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// Shards returns how many shards the graphs have, by the names of their directories.
func (m *Manifest) Shards() (n int) {
	for _, f := range m.Files {
		var no int
		if parts := strings.Split(f.Path, "/"); len(parts) > 3 {
			if _, err := fmt.Sscanf(parts[2], "shard-%04d", &no); err == nil {
				n = max(n, no+1)
			}
		}
	}
	return n
}

// Below returns a manifest with all files below a directory.
func (m *Manifest) Below(dir string) *Manifest {
	out := *m
	out.Files = slices.Clone(m.Files)
	for i := range out.Files {
		out.Files[i].Path = path.Join(dir, out.Files[i].Path)
	}
	return &out
}

// Only returns a manifest with only the files of one shard (by the name of its directory) in each graph, and the files beside the shards.
func (m *Manifest) Only(name string) (*Manifest, error) {
	has := map[string]bool{}
	for _, f := range m.Files {
		if parts := strings.Split(f.Path, "/"); len(parts) > 3 && parts[2] == name {
			has[parts[1]] = true
		}
	}
	if len(has) == 0 {
		return nil, fmt.Errorf("the backup %s holds no %s", m.ID, name)
	}
	out := *m
	out.Graphs, out.Files = slices.Sorted(maps.Keys(has)), nil
	for _, f := range m.Files {
		if parts := strings.Split(f.Path, "/"); has[parts[1]] && (len(parts) == 3 || parts[2] == name) {
			out.Files = append(out.Files, f)
		}
	}
	return &out, nil
}

// envelope is the stored form: SHA256 is the checksum of Manifest's bytes.
type envelope struct {
	Version  int             `json:"version"`
	SHA256   string          `json:"sha256"`
	Manifest json.RawMessage `json:"manifest"`
}

// NewID returns the id of a backup taken at a time.
func NewID(taken time.Time) string {
	return strings.Replace(taken.UTC().Format("20060102T150405.000"), ".", "-", 1)
}

var validID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func manifestName(id string) string { return "backups/" + id + ".json" }

func objectName(sum string) string { return "files/" + sum }

// Commit completes a backup by writing its manifest.
func (r *Repo) Commit(ctx context.Context, m *Manifest) error {
	if err := r.sync(); err != nil {
		return err
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	text, err := json.Marshal(envelope{version, hex.EncodeToString(sum[:]), body})
	if err != nil {
		return err
	}
	err = r.write(ctx, manifestName(m.ID), func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	return r.sync()
}

// IDs lists the backups, oldest first.
func (r *Repo) IDs(ctx context.Context) ([]string, error) {
	var ids []string
	err := r.list(ctx, "backups/", func(name string, _ int64) error {
		if id, ok := strings.CutSuffix(path.Base(name), ".json"); ok {
			ids = append(ids, id)
		}
		return nil
	})
	slices.Sort(ids)
	return ids, err
}

// Manifest reads the manifest of a backup; "" means the newest.
func (r *Repo) Manifest(ctx context.Context, id string) (*Manifest, error) {
	if id == "" {
		ids, err := r.IDs(ctx)
		if err != nil {
			return nil, err
		}
		if len(ids) == 0 {
			return nil, fmt.Errorf("%s holds no backup", r.name)
		}
		id = ids[len(ids)-1]
	}
	if !validID.MatchString(id) {
		return nil, fmt.Errorf("%q cannot name a backup", id)
	}
	name := manifestName(id)
	text, err := r.bucket.ReadAll(ctx, name)
	if isNotFound(err) {
		return nil, fmt.Errorf("%s has no backup %s", r.name, id)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read %s: %w", r.name, name, err)
	}
	m, err := parseManifest(text)
	if err == nil && m.ID != id {
		err = fmt.Errorf("it is that of backup %s", m.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the manifest %s: %w", r.name, name, err)
	}
	return m, nil
}

var errDamaged = errors.New("it is damaged")

func parseManifest(text []byte) (*Manifest, error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if e.Version > version {
		return nil, fmt.Errorf("it has the version %d; this program reads %d", e.Version, version)
	}
	if e.Version < 1 {
		return nil, errDamaged
	}
	sum := sha256.Sum256(e.Manifest)
	if hex.EncodeToString(sum[:]) != e.SHA256 {
		return nil, fmt.Errorf("%w: its checksum is wrong", errDamaged)
	}
	m := &Manifest{}
	d := json.NewDecoder(bytes.NewReader(e.Manifest))
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	seen := map[string]bool{}
	for _, f := range m.Files {
		sum, err := hex.DecodeString(f.SHA256)
		if err != nil || len(sum) != sha256.Size || f.Size < 0 || !validPath(f.Path) || seen[f.Path] {
			return nil, fmt.Errorf("%w: it cannot name the file %q", errDamaged, f.Path)
		}
		seen[f.Path] = true
	}
	return m, nil
}

// validPath reports whether a path stays within the graphs of a data directory.
func validPath(p string) bool {
	return strings.HasPrefix(p, "graphs/") && path.Clean(p) == p && !strings.ContainsAny(p, "\\\x00")
}
