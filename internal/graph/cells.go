package graph

// Cells holds some values of one property as a cache keeps them. Its memory is the cache's.
type Cells struct {
	// Codes are the places of the values in Dict, which has each of them once. Dict may have values that Codes does not use.
	Codes []uint16
	Dict  []Value
	// Narrow and Wide hold Ints: Base plus a cell of Narrow, or a cell of Wide.
	Base   int64
	Narrow []uint32
	Wide   []uint64
	// Present is the bitmap of the Ints that are not null, from bit From on; nil: all.
	Present []uint64
	From    uint32
	// Most bounds the magnitude of the Ints.
	Most uint64
	// Vals are the values, if neither Codes, Narrow nor Wide is set.
	Vals []Value
}

// Ints reports whether all values that are not null are Ints, which Int returns.
func (c *Cells) Ints() bool { return c.Narrow != nil || c.Wide != nil }

// Int returns the Int at place i. It is arbitrary if the value is null.
func (c *Cells) Int(i uint32) int64 {
	if c.Narrow != nil {
		return c.Base + int64(c.Narrow[i])
	}
	return int64(c.Wide[i])
}

// Has reports whether the Int at place i is not null.
func (c *Cells) Has(i uint32) bool {
	i += c.From
	return c.Present == nil || c.Present[i>>6]>>(i&63)&1 != 0
}

// Value returns the value at place i.
func (c *Cells) Value(i uint32) Value {
	switch {
	case c.Codes != nil:
		return c.Dict[c.Codes[i]]
	case !c.Ints():
		return c.Vals[i]
	case c.Has(i):
		return IntValue(c.Int(i))
	}
	return Value{}
}
