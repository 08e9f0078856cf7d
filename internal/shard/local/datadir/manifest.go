package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
)

// ValidName matches the names that a graph can have.
var ValidName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// Manifest says what a graph is.
type Manifest struct {
	Format int `json:"format"`
	Shards int `json:"shards"`
	// ID and Dropped are set for graphs of a cluster: a dropped one remains until all of its shards are removed.
	ID      uint64 `json:"id,omitempty"`
	Dropped bool   `json:"dropped,omitempty"`
}

// PartOf identifies the graph, which has a name, to the processes that have its shards.
func (m *Manifest) PartOf(name string) storage.PartOf {
	return storage.PartOf{Name: name, ID: m.ID, Shards: m.Shards}
}

// ManifestName is the file of a graph's directory that holds its manifest.
const ManifestName = "GRAPH"

// ErrNoGraph reports a directory without a manifest.
var ErrNoGraph = errors.New("no graph")

// ReadManifest reads the manifest of a graph's directory.
func ReadManifest(fs vfs.FS, dir string) (m Manifest, err error) {
	f, err := fs.Open(fs.PathJoin(dir, ManifestName))
	if err != nil {
		if _, serr := fs.Stat(fs.PathJoin(dir, ManifestName)); fail.IsNotExist(serr) {
			return m, ErrNoGraph
		}
		return m, fmt.Errorf("read %s: %w", dir, err)
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return m, fmt.Errorf("read %s: %w", dir, err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, graph.CorruptError("read "+fs.PathJoin(dir, ManifestName), err)
	}
	if m.Format != storage.FormatVersion {
		return m, storage.FormatError(dir, m.Format)
	}
	if m.Shards < 1 || m.Shards > storage.MaxShards {
		return m, graph.CorruptError("read "+fs.PathJoin(dir, ManifestName), fmt.Errorf("it has %d shards", m.Shards))
	}
	return m, nil
}

// WriteManifest writes the manifest, with which the graph exists.
func WriteManifest(fs vfs.FS, dir string, m Manifest) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return WriteWhole(fs, fs.PathJoin(dir, ManifestName), append(b, '\n'))
}

// Held is a graph with a shard in this process.
type Held struct {
	storage.PartOf
	Dropped bool // it is being dropped
}
