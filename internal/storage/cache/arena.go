package cache

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// granule is the unit of allocation in bytes. Runs begin at multiples of it, so that any element type is aligned.
const granule = 1 << 10

const (
	minRegion = 1 << 16
	maxRegion = 1 << 25
	// largeRun is where runs count as large: large ones are sought from the first region on and small ones from the
	// last, so that small ones do not break up the room of the large.
	largeRun = 1 << 16
)

// arena allocates runs of memory from mapped regions; the mapped bytes never exceed the budget. It is not safe for
// concurrent use.
type arena struct {
	budget  int
	mapped  int // bytes in regions
	used    int // bytes in runs, whole granules
	regions []*region
}

// region is one mapping, with a bit for each granule that is in use.
type region struct {
	mem  []byte
	used []uint64
	free int // granules
	// fits bounds from above the longest free run, in granules.
	fits int
	// own reports whether the region was allocated for one large run and is freed with it.
	own bool
}

// run is a piece of arena memory; the zero run is empty.
type run struct {
	mem []byte
	reg *region
}

func (r run) size() int { return (len(r.mem) + granule - 1) &^ (granule - 1) }

// regionSize is the size of new regions: an eighth of the budget, as a power of two between the limits.
func (a *arena) regionSize() int {
	n := min(max(a.budget/8, minRegion), maxRegion)
	return 1 << (bits.Len(uint(n)) - 1)
}

// alloc returns a run of n bytes with any content, or false if there is no room within the budget.
func (a *arena) alloc(n int) (run, bool) {
	if n == 0 {
		return run{}, true
	}
	g := (n + granule - 1) / granule
	for i := range a.regions {
		r := a.regions[i]
		if n < largeRun {
			r = a.regions[len(a.regions)-1-i]
		}
		if at := r.take(g); at >= 0 {
			a.used += g * granule
			return run{r.mem[at*granule : at*granule+n], r}, true
		}
	}
	r := a.grow(g * granule)
	if r == nil {
		return run{}, false
	}
	at := r.take(g)
	a.used += g * granule
	return run{r.mem[at*granule : at*granule+n], r}, true
}

// grow maps a region with room for n bytes, giving back empty regions if the budget asks for it.
func (a *arena) grow(n int) *region {
	size := a.regionSize()
	own := n > size
	if own {
		size = n
	}
	if a.mapped+size > a.budget {
		a.trim()
	}
	if a.mapped+size > a.budget {
		if size, own = n, true; a.mapped+size > a.budget {
			return nil
		}
	}
	mem, err := mapMemory(size)
	if err != nil {
		return nil
	}
	adviseHuge(mem)
	g := size / granule
	r := &region{mem: mem, used: make([]uint64, (g+63)/64), free: g, fits: g, own: own}
	if g&63 != 0 {
		r.used[len(r.used)-1] = ^uint64(0) << (g & 63)
	}
	a.regions = append(a.regions, r)
	a.mapped += size
	return r
}

// trim unmaps the regions that hold nothing.
func (a *arena) trim() {
	kept := a.regions[:0]
	for _, r := range a.regions {
		if r.free*granule == len(r.mem) {
			a.unmap(r)
			continue
		}
		kept = append(kept, r)
	}
	clear(a.regions[len(kept):])
	a.regions = kept
}

func (a *arena) unmap(r *region) {
	a.mapped -= len(r.mem)
	if err := unmapMemory(r.mem); err != nil {
		panic(fmt.Sprintf("cache: unmap of %d bytes: %v", len(r.mem), err))
	}
	r.mem = nil
}

// release returns a run back.
func (a *arena) release(m run) {
	if m.reg == nil {
		return
	}
	r, g := m.reg, m.size()/granule
	at := int(uintptr(unsafe.Pointer(unsafe.SliceData(m.mem)))-uintptr(unsafe.Pointer(unsafe.SliceData(r.mem)))) / granule
	poison(m.mem)
	r.mark(at, g, false)
	r.free += g
	r.fits = r.free
	a.used -= g * granule
	if r.own {
		a.trim()
	}
}

// take marks n consecutive free granules and returns the first one's number, or -1.
func (r *region) take(n int) int {
	if n > r.free || n > r.fits {
		return -1
	}
	total := len(r.mem) / granule
	for at := r.next(0, false); at+n <= total; {
		end := min(r.next(at, true), total)
		if end-at >= n {
			r.mark(at, n, true)
			r.free -= n
			return at
		}
		at = r.next(end, false)
	}
	r.fits = n - 1
	return -1
}

// next returns the first granule from at on whose bit is as asked, or the end of the bits.
func (r *region) next(at int, set bool) int {
	for w := at >> 6; w < len(r.used); w++ {
		word := r.used[w]
		if !set {
			word = ^word
		}
		if w == at>>6 {
			word &= ^uint64(0) << (at & 63)
		}
		if word != 0 {
			return w<<6 + bits.TrailingZeros64(word)
		}
	}
	return len(r.used) << 6
}

func (r *region) mark(at, n int, set bool) {
	for n > 0 {
		k := min(n, 64-at&63)
		mask := ^uint64(0) >> (64 - k) << (at & 63)
		if set {
			r.used[at>>6] |= mask
		} else {
			r.used[at>>6] &^= mask
		}
		at, n = at+k, n-k
	}
}

// carve cuts n elements of type T off the front of b, which is 8-aligned, and returns the rest, again 8-aligned.
func carve[T uint16 | uint32 | uint64 | float32 | float64 | byte](b []byte, n int) ([]T, []byte) {
	if n == 0 {
		return nil, b
	}
	s := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
	return s, b[sizeOf[T](n):]
}

// sizeOf is the number of bytes that carve takes for n elements: whole words of eight bytes.
func sizeOf[T uint16 | uint32 | uint64 | float32 | float64 | byte](n int) int {
	var t T
	return (n*int(unsafe.Sizeof(t)) + 7) &^ 7
}
