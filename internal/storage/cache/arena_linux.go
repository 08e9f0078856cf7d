//go:build linux && !race

package cache

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages, which spare the walks through the page tables that lists read at random cause. A
// kernel that knows none refuses, and nothing is lost.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }

// adviseSmall asks for pages of the usual size, so that memory that is written here and there takes no more pages than that.
func adviseSmall(b []byte) { _ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) }
