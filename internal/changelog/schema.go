package changelog

import (
	"encoding/binary"
)

// A commit may also tell how the definitions of its graph change, in blocks of their own: bytes that this package does not read. Each of
// Commit passes over them.

// SchemaRecord returns the record of a commit that changes definitions.
func SchemaRecord(time int64, change []byte) []byte {
	b := binary.AppendVarint([]byte{version}, time)
	b = append(b, 0, flagSchema) // no transactions, one block
	b = binary.AppendUvarint(b, uint64(len(change)))
	return append(b, change...)
}

// Schema calls f with each change of definitions. skipped reports whether a load has kept changes out of the commit's record; see Skipped.
func (c *Commit) Schema(f func(change []byte) error) (skipped bool, err error) {
	for _, b := range c.Records {
		r := reader{b: b}
		r.skipHead()
		for r.err == nil && len(r.b) > 0 {
			var d shape
			n := d.head(&r)
			switch {
			case d.flags == flagSchema:
				if change := r.bytes(); r.err == nil {
					err = f(change)
				}
			default:
				skipped = skipped || n > 0 && Op(d.flags&3) == Skipped
				for range d.columns() {
					r.bytes()
				}
			}
			if err != nil {
				return skipped, err
			}
		}
		if r.err != nil {
			return skipped, r.err
		}
	}
	return skipped, nil
}
