package graph

import "slices"

// Property gives the value of a key, or null where the record has none.
func (r *Record) Property(key string) Value {
	if i, ok := slices.BinarySearch(r.Keys, key); ok {
		return r.Values[i]
	}
	return Value{}
}
