package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/hopgate/hopgate/internal/changelog"
)

// A segment is a file:
//
//	magic     8 bytes
//	header    its size as a uvarint, then JSON: see Segment
//	commits   as the log has them, one after the other, compressed by zstd
//	checksum  32 bytes, SHA-256 of all before

// Segment is a part of the commit log of a graph, or a gap in it.
type Segment struct {
	Graph string `json:"graph"`
	// After is the commit that precedes the segment and Last its last one, with their times in nanoseconds since 1970.
	After     uint64 `json:"after"`
	AfterTime int64  `json:"afterTime"`
	Last      uint64 `json:"last"`
	LastTime  int64  `json:"lastTime"`
	// Gap says why the commits are not there; "" if they are.
	Gap string `json:"gap,omitempty"`
	// Names are those that the commits refer to.
	Names changelog.Names `json:"names"`
	// Bytes is the size of Commits.
	Bytes int `json:"bytes"`
	// Commits are in the form of changelog.ReadCommit.
	Commits []byte `json:"-"`
}

const segmentMagic = "hopglog\x01"

// maxSegment is the largest size of the commits of a segment that is read: one commit may be large.
const maxSegment = 4 << 30

// errSegment says that a file is not a whole segment.
var errSegment = errors.New("the segment is damaged")

// zips compress and decompress segments; they are safe for concurrent use.
var (
	zipper, _   = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	unzipper, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSegment))
)

// encode returns the file of a segment.
func (s *Segment) encode() ([]byte, error) {
	s.Bytes = len(s.Commits)
	header, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint([]byte(segmentMagic), uint64(len(header)))
	b = zipper.EncodeAll(s.Commits, append(b, header...))
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}

// decodeSegment reads the file of a segment. Its commits follow each other without a gap, from After to Last, in time too.
func decodeSegment(b []byte) (*Segment, error) {
	if len(b) < len(segmentMagic)+sha256.Size || string(b[:len(segmentMagic)]) != segmentMagic {
		return nil, errSegment
	}
	body := b[:len(b)-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], b[len(body):]) {
		return nil, errSegment
	}
	return decodeBody(body[len(segmentMagic):])
}

// decodeBody reads what lies between the magic and the checksum.
func decodeBody(b []byte) (*Segment, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, errSegment
	}
	s := &Segment{}
	if err := json.Unmarshal(b[size:size+int(n)], s); err != nil {
		return nil, fmt.Errorf("%w: %w", errSegment, err)
	}
	commits, err := unzipper.DecodeAll(b[size+int(n):], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSegment, err)
	}
	if s.Commits = commits; len(commits) != s.Bytes || s.Last <= s.After {
		return nil, errSegment
	}
	if s.Gap != "" {
		return s, nil
	}
	at, last := s.After, s.AfterTime
	var c changelog.Commit
	for rest := commits; len(rest) > 0; at, last = c.Number, c.Time {
		if rest, err = c.Read(rest); err != nil {
			return nil, fmt.Errorf("%w: %w", errSegment, err)
		}
		if c.Number != at+1 || c.Time <= last {
			return nil, fmt.Errorf("%w: commit %d follows commit %d", errSegment, c.Number, at)
		}
	}
	if at != s.Last || last != s.LastTime {
		return nil, errSegment
	}
	return s, nil
}
