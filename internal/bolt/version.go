package bolt

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/hopgate/hopgate/internal/bolt/packstream"
)

// Version is a version of the protocol. The zero Version means none.
type Version struct{ Major, Minor byte }

// String returns the version, such as 5.4.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// from reports whether the version is at least the given one.
func (v Version) from(major, minor byte) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// form returns the form of the version's values.
func (v Version) form() packstream.Form {
	return packstream.Form{ElementIDs: v.Major >= 5, UTC: v.Major >= 5, Vectors: v.Major >= 6}
}

// span is the versions of one major number from last-back to last.
type span struct{ major, last, back byte }

// spoken lists the supported versions, highest first. 5.5 was never released.
var spoken = []span{{6, 0, 0}, {5, 8, 2}, {5, 4, 4}, {4, 4, 0}}

// Versions lists the supported versions, highest first.
func Versions() (vs []Version) {
	for _, s := range spoken {
		for i := range s.back + 1 {
			vs = append(vs, Version{s.major, s.last - i})
		}
	}
	return vs
}

// Magic starts a connection.
const Magic = "\x60\x60\xb0\x17"

// manifest is the proposal with which a client requests the list of versions, in the first edition of its form.
const manifest = "\x00\x00\x01\xff"

// Handshake negotiates a version, after the client's magic number. The zero Version means that the sides share none, which it reports to
// the client. listed means that the client chose from the manifest.
func Handshake(rw io.ReadWriter) (v Version, listed bool, err error) {
	var proposals [16]byte
	if _, err := io.ReadFull(rw, proposals[:]); err != nil {
		return v, false, err
	}
	for i := 0; i < len(proposals); i += 4 {
		p := proposals[i : i+4]
		if string(p) == manifest {
			v, err = offer(rw)
			return v, true, err
		}
		if v = choose(p); v != (Version{}) {
			break
		}
	}
	_, err = rw.Write([]byte{0, 0, v.Minor, v.Major})
	return v, false, err
}

// choose returns the highest supported version of a proposal, which consists of zero, range, minor and major number.
func choose(p []byte) Version {
	if p[0] != 0 {
		return Version{}
	}
	for _, v := range Versions() {
		if v.Major == p[3] && v.Minor <= p[2] && int(v.Minor) >= int(p[2])-int(p[1]) {
			return v
		}
	}
	return Version{}
}

// offer sends the list of versions in one write and reads the client's choice, which must be in the list and without capabilities, as none
// are offered.
func offer(rw io.ReadWriter) (Version, error) {
	out := append([]byte(manifest), byte(len(spoken)))
	for _, s := range spoken {
		out = append(out, 0, s.back, s.last, s.major)
	}
	if _, err := rw.Write(append(out, 0)); err != nil {
		return Version{}, err
	}
	var choice [4]byte
	if _, err := io.ReadFull(rw, choice[:]); err != nil {
		return Version{}, err
	}
	capabilities, err := binary.ReadUvarint(byteReader{rw})
	if err != nil || capabilities != 0 || choice[1] != 0 {
		return Version{}, err
	}
	return choose(choice[:]), nil
}

// byteReader reads byte by byte, so that it consumes no bytes after its own.
type byteReader struct{ io.Reader }

func (r byteReader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r.Reader, b[:])
	return b[0], err
}
