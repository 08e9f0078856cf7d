package kv

import (
	"time"

	"github.com/cockroachdb/pebble/v2/sstable/block"
)

// Stats is the shape of one Pebble store. Sizes are in bytes.
type Stats struct {
	Levels    []LevelStats // from the top
	DiskBytes uint64       // of all files
	// ReadAmplification is the maximum number of tables that a look-up reads.
	ReadAmplification int

	Memtables     int64
	MemtableBytes uint64

	LogBytes                 uint64 // live
	LogIn                    uint64 // logical bytes of all commits
	LogWritten               uint64
	Ingested                 uint64 // bytes of ingested tables
	Flushed, Compacted       uint64 // bytes written, separated values included
	Flushes, Compactions     int64
	CompactionsRunning       int64
	CompactionDebt           uint64
	CompactionTime           time.Duration
	SeparatedFiles           uint64
	SeparatedBytes           uint64 // of the files of separated values
	SeparatedLive            uint64 // bytes of live separated values, without those in memtables
	SeparatedDead            uint64 // bytes of deleted ones that are not reclaimed yet
	Replaced                 uint64 // bytes of tables that compactions have replaced and iterators still use
	Snapshots                int
	BlockRead                uint64 // bytes of blocks that readers, but not compactions, have read
	BlockFound               uint64 // of these, bytes found in the block cache
	BlockHits, BlockMisses   int64  // of the block cache that all stores of the process share
	BlockBytes               int64
	FilterHits, FilterMisses int64
	Stalls                   int64         // times that commits had to wait for flushes or compactions
	StallTime                time.Duration // of those that have ended
}

// LevelStats is the shape of one level.
type LevelStats struct {
	Tables    int64
	Bytes     int64
	Sublevels int // tables that a look-up may have to see: of level 0 several, of another that holds something one
}

// WriteAmplification is the bytes written for each byte of commits and ingested tables, 0 before the first one.
func (s *Stats) WriteAmplification() float64 {
	in := s.LogIn + s.Ingested
	if in == 0 {
		return 0
	}
	return float64(s.LogWritten+s.Ingested+s.Flushed+s.Compacted) / float64(in)
}

// DeepLevels is the number of levels that are not empty.
func (s *Stats) DeepLevels() int {
	n := 0
	for _, l := range s.Levels {
		if l.Tables > 0 {
			n++
		}
	}
	return n
}

// statsWait is how long Stats waits for current numbers.
const statsWait = time.Second

// Stats implements Store. It returns earlier numbers if there are no current ones soon: Pebble blocks while it cannot write its
// manifest.
func (in *Instance) Stats() Stats {
	done := make(chan struct{})
	if in.measuring.CompareAndSwap(false, true) {
		go func() {
			defer close(done)
			err := in.Guard(func() error {
				s := in.Measure()
				in.measured.Store(&s)
				return nil
			})
			in.measuring.Store(err != nil)
		}()
	} else {
		close(done)
	}
	timer := time.NewTimer(statsWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	if s := in.measured.Load(); s != nil {
		return *s
	}
	return Stats{}
}

// Measure returns the shape of the store as it is now. The caller guards it.
func (in *Instance) Measure() Stats {
	m := in.DB.Metrics()
	s := Stats{
		// Pebble (v2.1.7) leaves out the blob files that were there when the store was opened.
		DiskBytes: m.DiskSpaceUsage() - m.BlobFiles.Local.LiveSize + m.BlobFiles.LiveSize, ReadAmplification: m.ReadAmp(),
		Memtables: m.MemTable.Count, MemtableBytes: m.MemTable.Size,
		LogBytes: m.WAL.Size, LogIn: m.WAL.BytesIn, LogWritten: m.WAL.BytesWritten,
		Flushes: m.Flush.Count, Compactions: m.Compact.Count, CompactionsRunning: m.Compact.NumInProgress,
		CompactionDebt: m.Compact.EstimatedDebt, CompactionTime: m.Compact.Duration,
		SeparatedFiles: m.BlobFiles.LiveCount, SeparatedBytes: m.BlobFiles.LiveSize, SeparatedLive: m.BlobFiles.ReferencedValueSize,
		Replaced: m.Table.ZombieSize, Snapshots: m.Snapshots.Count,
		BlockHits: m.BlockCache.Hits, BlockMisses: m.BlockCache.Misses, BlockBytes: m.BlockCache.Size,
		FilterHits: m.Filter.Hits, FilterMisses: m.Filter.Misses,
		Stalls: in.stalls.Load(), StallTime: time.Duration(in.stalled.Load()),
	}
	if in.Logged != nil {
		s.LogIn = in.Logged.bytes.Load()
	}
	// A deleted value counts as referenced until a compaction removes the deletion and the reference.
	deleted := in.Deleted.Load() + m.Table.Garbage.PointDeletionsBytesEstimate + m.Table.Garbage.RangeDeletionsBytesEstimate
	s.SeparatedLive -= min(deleted, s.SeparatedLive)
	s.SeparatedDead = deleted + m.BlobFiles.ValueSize - min(m.BlobFiles.ValueSize, m.BlobFiles.ReferencedValueSize)
	s.SeparatedDead += m.BlobFiles.ObsoleteSize + m.BlobFiles.ZombieSize
	for _, c := range m.CategoryStats {
		if c.Category.QoSLevel() == block.LatencySensitiveQoSLevel {
			s.BlockRead += c.CategoryStats.BlockBytes
			s.BlockFound += c.CategoryStats.BlockBytesInCache
		}
	}
	for i := range m.Levels {
		l := &m.Levels[i]
		s.Levels = append(s.Levels, LevelStats{Tables: l.TablesCount, Bytes: l.TablesSize, Sublevels: int(l.Sublevels)})
		s.Ingested += l.TableBytesIngested
		s.Flushed += l.TableBytesFlushed + l.BlobBytesFlushed
		s.Compacted += l.TableBytesCompacted + l.BlobBytesCompacted
	}
	return s
}
