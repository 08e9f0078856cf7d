package kv

import (
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Texts of 1 KB take 0.63 times the space by zstd, which large values are compressed by, that they take by MinLZ. The graph store, which
// is packed already, would become 0.91 times as large; a hop that must read blocks would wait for it.

// The sizes of blocks, in bytes. Large blocks make long runs of lists and chunks cheap and keep the table index small;
// the values instance holds references alone.
const (
	graphBlock  = 16 << 10
	valuesBlock = 4 << 10
)

// rewriteRatio is the part of all blob files that may be garbage before Pebble rewrites some.
const rewriteRatio = 0.25

// Options says how one store is opened.
type Options struct {
	FS             vfs.FS
	Logger         *slog.Logger
	ReadOnly       bool
	CacheMode      CacheMode
	MemtableBytes  int
	ValueThreshold int
	// Logged says that the log of a replica holds the batches, so that the store needs no log.
	Logged bool
	// Interrupt, if set, is closed to end waits for disk space.
	Interrupt <-chan struct{}
	// Damaged, if set, is called by the read that first finds a file damaged. It must not block.
	Damaged func(file string, err error)
	// OnDamage, if set, stops the store with this error when a read finds damage.
	OnDamage error
	// Cache and Files are shared by the stores of a process. If nil, the store has its own.
	Cache *pebble.Cache
	Files *pebble.FileCache
}

// pebbleOptions makes the options of one instance.
func pebbleOptions(o *Options, values bool) *pebble.Options {
	p := &pebble.Options{
		FS:                          o.FS,
		FormatMajorVersion:          pebble.FormatNewest,
		MemTableSize:                uint64(o.MemtableBytes),
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       20, // that is half as many sublevels; a lower one would rewrite the tables of loads many times
		L0StopWritesThreshold:       1000,
		LBaseMaxBytes:               64 << 20,
		ReadOnly:                    o.ReadOnly,
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		Cleaner:                     keepNoLogs{},
	}
	p.Cache, p.FileCache = o.Cache, o.Files
	p.Experimental.EnableColumnarBlocks = func() bool { return true }
	p.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{
			Enabled: values, MinimumSize: min(o.ValueThreshold, 1<<10), MaxBlobReferenceDepth: 10,
			RewriteMinimumAge: 0, TargetGarbageRatio: rewriteRatio,
		}
	}
	block := graphBlock
	if values {
		block = valuesBlock
	}
	p.ApplyCompressionSettings(func() pebble.DBCompressionSettings {
		if values {
			return pebble.UniformDBCompressionSettings(sstable.FastCompression)
		}
		return pebble.UniformDBCompressionSettings(sstable.FastestCompression)
	})
	for i := range p.Levels {
		p.Levels[i].BlockSize = block
		p.Levels[i].IndexBlockSize = 64 << 10
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	// Pebble does not look at the filters of the lowest level.
	p.Levels[LowestLevel].FilterPolicy = pebble.NoFilterPolicy
	p.EnsureDefaults()
	return p
}
