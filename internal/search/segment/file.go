package segment

import (
	"errors"
	"fmt"
)

// Open reads a segment from a file, which may be removed meanwhile but not written. It reads all of the file once, for its checksum.
func Open(path string) (*Segment, error) {
	data, release, err := load(path)
	if err != nil {
		return nil, err
	}
	s, err := New(data)
	if err != nil {
		if release != nil {
			err = errors.Join(err, release())
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.close = release
	return s, nil
}
