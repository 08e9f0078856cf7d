package social

import (
	"errors"
	"fmt"
)

// Options describe the network to write. Equal options give equal bytes, whatever the number of workers.
type Options struct {
	Persons int
	Seed    uint64
	// CommentMin and CommentMax bound the length of comments in bytes. If CommentMax is 0, the network has no comments.
	CommentMin, CommentMax int
	// Workers is the number of goroutines that write; default 1.
	Workers int
}

// maxPersons keeps person numbers within 32 bits.
const maxPersons = 1 << 31

// Validate returns all errors of the options, joined.
func (o *Options) Validate() error {
	var errs []error
	if o.Persons < 2 || o.Persons > maxPersons {
		errs = append(errs, fmt.Errorf("persons: must be between 2 and %d, is %d", maxPersons, o.Persons))
	}
	if o.CommentMin < 0 || o.CommentMax < o.CommentMin || o.CommentMax > 64<<20 {
		errs = append(errs, fmt.Errorf("comment bytes: must be A..B with 0 <= A <= B <= 64 MiB, is %d..%d", o.CommentMin, o.CommentMax))
	}
	return errors.Join(errs...)
}

// Counts are the totals of a network.
type Counts struct{ Vertices, Edges, Bytes int64 }
