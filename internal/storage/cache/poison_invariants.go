//go:build invariants || race

package cache

// poison overwrites released memory, so that a stale reader fails soon.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}
