package part

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/shard/local/datadir"
	"github.com/hopgate/hopgate/internal/shard/local/fail"
	"github.com/hopgate/hopgate/internal/storage"
)

// Copy begins a copy of shards, which Flush, Take and List make.
func (s *Parts) Copy(id uint64) (*datadir.Checkpoint, error) {
	if err := s.Damage(); err != nil {
		return nil, graph.CorruptError(fmt.Sprintf("copy shard %d", s.no), err)
	}
	return s.Copies.Begin(id)
}

// CopiedFile opens a file of a copy.
func (s *Parts) CopiedFile(id uint64, path string) (io.ReadCloser, error) {
	return s.Copies.File(id, path)
}

// use calls f with the shard of a graph, which stays open meanwhile.
func (s *Parts) use(of storage.PartOf, f func(p *Part) error) error {
	p, err := s.Part(of.Name)
	if err != nil {
		return err
	}
	if err := p.Enter(); err != nil {
		return err
	}
	defer p.Leave()
	if p.m.PartOf(of.Name) != of {
		return fail.NotFound("this process has a shard of another graph %q", of.Name)
	}
	return f(p)
}

// Flush makes ready what Take will copy of a graph.
func (s *Parts) Flush(ctx context.Context, of storage.PartOf) error {
	return s.use(of, func(p *Part) error { return p.Flush(ctx) })
}

// Take copies the shard of a graph as its writer with an epoch has left it, at a version of that writer or a later one.
func (s *Parts) Take(ctx context.Context, c *datadir.Checkpoint, of storage.PartOf, epoch, version uint64) error {
	return s.use(of, func(p *Part) error {
		if err := p.Part.Await(ctx, epoch, version); err != nil {
			return err
		}
		dir := c.GraphDir(of.Name)
		if err := s.Options.FS.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		c.Add(of.Name)
		return p.Checkpoint(epoch, storage.Dir(dir, s.no))
	})
}

// List lists what a copy has taken.
func (s *Parts) List(ctx context.Context, c *datadir.Checkpoint) ([]graph.CheckpointFile, error) {
	err := c.List(ctx)
	return c.Files(), err
}

// CheckFiles verifies the files of a graph's shard; see storage.CheckFiles.
func (s *Parts) CheckFiles(ctx context.Context, of storage.PartOf, bad func(file string, err error)) (files, bytes uint64, err error) {
	err = s.use(of, func(p *Part) error {
		return s.Copies.Scratch(func(dir string) error {
			files, bytes, err = p.CheckFiles(ctx, storage.Dir(dir, s.no), func(file string, err error) {
				s.Options.Damaged(file, err)
				bad(file, err)
			})
			return err
		})
	})
	return files, bytes, err
}

// compareWithin is how long a replica may take until it has the version in which it is compared with others.
const compareWithin = 10 * time.Second

// Digest returns the digest of a graph's shard in a version of a writer's epoch; see storage.Digest.
func (s *Parts) Digest(ctx context.Context, of storage.PartOf, epoch, version uint64) (d storage.Digest, err error) {
	err = s.use(of, func(p *Part) error {
		limited, cancel := context.WithTimeout(ctx, compareWithin)
		defer cancel()
		if err := p.Part.Await(limited, epoch, version); err != nil {
			return err
		}
		d, err = p.Part.Digest(ctx, epoch, version)
		return err
	})
	return d, err
}
