package graph

import "slices"

// Property returns the value of a key, or null if it is missing.
func (r *Record) Property(key string) Value {
	if i, ok := slices.BinarySearch(r.Keys, key); ok {
		return r.Values[i]
	}
	return Value{}
}
