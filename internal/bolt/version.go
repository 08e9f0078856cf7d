package bolt

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/hopgate/hopgate/internal/bolt/packstream"
)

// Version is a version of the protocol. The zero Version is none.
type Version struct{ Major, Minor byte }

// String gives the version as in 5.4.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// from reports whether the version is this one or a later one.
func (v Version) from(major, minor byte) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// form is how the values of the version look.
func (v Version) form() packstream.Form {
	return packstream.Form{ElementIDs: v.Major >= 5, UTC: v.Major >= 5}
}

// span is the versions of one major number from last-back to last.
type span struct{ major, last, back byte }

// spoken lists the versions, the highest first. 5.5 was never released.
var spoken = []span{{6, 0, 0}, {5, 8, 2}, {5, 4, 4}, {4, 4, 0}}

// Versions lists the versions, the highest first.
func Versions() (vs []Version) {
	for _, s := range spoken {
		for i := range s.back + 1 {
			vs = append(vs, Version{s.major, s.last - i})
		}
	}
	return vs
}

// Magic begins a connection.
const Magic = "\x60\x60\xb0\x17"

// manifest is the proposal by which a client asks for the list of versions, in the form of its first edition.
const manifest = "\x00\x00\x01\xff"

// Handshake agrees with a client on a version, once the client's magic number has been read. The zero Version says that there is none
// that both speak, of which the client is told. manifest says that the client chose from the list.
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

// choose gives the highest version of a proposal, zero, range, minor and major number, that is spoken here.
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

// offer sends the list of versions in one write, and reads the client's choice, which must be of the list and without
// capabilities, as none are offered.
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

// byteReader reads byte by byte, so that nothing is read of what follows.
type byteReader struct{ io.Reader }

func (r byteReader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r.Reader, b[:])
	return b[0], err
}
