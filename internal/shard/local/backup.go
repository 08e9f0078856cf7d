package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
)

var _ shard.Maintainer = (*Store)(nil)

// Checkpoint implements shard.Maintainer. Each graph is held up while its files are linked, and no longer.
func (s *Store) Checkpoint(ctx context.Context, names []string) (shard.Checkpoint, error) {
	c, err := s.Copy(ctx, names)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Copy is Checkpoint for callers that read the files of other processes there.
func (s *Store) Copy(ctx context.Context, names []string) (_ *datadir.Checkpoint, err error) {
	if s.Options.ReadOnly {
		return nil, fail.ReadOnly()
	}
	if len(names) == 0 {
		names = s.Graphs()
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	c, err := s.Copies.Begin(0)
	if err != nil {
		return nil, err
	}
	c.Add(names...)
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	for _, name := range names {
		g, err := s.Local(name)
		if err != nil {
			return nil, err
		}
		if err := g.checkpoint(ctx, c); err != nil {
			return nil, fmt.Errorf("copy graph %s: %w", name, err)
		}
	}
	// Each process reads its own files.
	theirs := make([][]graph.CheckpointFile, len(c.Peers()))
	errs := make([]error, len(c.Peers()))
	var listing sync.WaitGroup
	for no, p := range c.Peers() {
		if p != nil {
			listing.Go(func() { theirs[no], errs[no] = p.Files() })
		}
	}
	err = c.List(ctx)
	listing.Wait()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	c.Append(theirs)
	return c, nil
}

// checkpoint copies the graph, with hard links.
func (g *Graph) checkpoint(ctx context.Context, c *datadir.Checkpoint) (err error) {
	if err := g.Enter(); err != nil {
		return err
	}
	defer g.Leave()
	// What is in tables need not travel again the next time, and the logs are short.
	if err := g.Flush(ctx); err != nil {
		return err
	}
	of := storage.PartOf{Name: g.Name, ID: g.id, Shards: len(g.shards)}
	peers := make([]storage.PeerCopy, len(g.shards))
	for no := range peers {
		if g.Options.Peers != nil {
			if peers[no], err = c.Peer(ctx, no); err == nil {
				err = peers[no].Flush(of)
			}
			if err != nil {
				return err
			}
		}
	}
	fs, dir := g.Options.FS, c.GraphDir(g.Name)
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := g.lock(ctx); err != nil {
		return err
	}
	for no, s := range g.shards {
		if peers[no] != nil {
			err = peers[no].Take(of, s.Applied())
		} else {
			err = s.Checkpoint(storage.Dir(dir, no))
		}
		if err != nil {
			g.unlock()
			return err
		}
	}
	g.unlock()
	return datadir.WriteManifest(fs, dir, datadir.Manifest{Format: storage.FormatVersion, Shards: len(g.shards)})
}

// CopiedFile opens a file of a checkpoint that Copy has made.
func (s *Store) CopiedFile(id uint64, path string) (io.ReadCloser, error) {
	return s.Copies.File(id, path)
}
