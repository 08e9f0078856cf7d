package replica

import (
	"encoding/binary"
	"errors"
)

// An entry's data is a byte for its kind, the proposer and its number of the proposal (8 bytes each, big-endian) and the payload. A
// command that is larger than a message is spread over consecutive entries, which are appended together: fragmentKind but for the
// last.
const (
	commandKind  = 1 // payload: the command, or the rest of one
	fragmentKind = 2 // payload: a part of a command
	cutKind      = 3 // payload: the index up to which logs may be cut, a varint
)

const headerSize = 1 + 8 + 8

var errEntry = errors.New("replica: malformed entry")

// proposalID names a proposal: proposer is a random number that a replica draws each time it opens, as numbers begin again then.
type proposalID struct{ proposer, number uint64 }

func appendHeader(dst []byte, kind byte, id proposalID) []byte {
	dst = append(dst, kind)
	dst = binary.BigEndian.AppendUint64(dst, id.proposer)
	return binary.BigEndian.AppendUint64(dst, id.number)
}

func readHeader(data []byte) (kind byte, id proposalID, payload []byte, err error) {
	if len(data) < headerSize || data[0] < commandKind || data[0] > cutKind {
		return 0, id, nil, errEntry
	}
	id = proposalID{binary.BigEndian.Uint64(data[1:]), binary.BigEndian.Uint64(data[9:])}
	return data[0], id, data[headerSize:], nil
}

// fragments spreads a command over the data of entries, of most bytes each.
func fragments(id proposalID, command []byte, most int) [][]byte {
	most -= headerSize
	var out [][]byte
	for {
		kind, n := byte(commandKind), len(command)
		if n > most {
			kind, n = fragmentKind, most
		}
		out = append(out, append(appendHeader(make([]byte, 0, headerSize+n), kind, id), command[:n]...))
		if command = command[n:]; kind == commandKind {
			return out
		}
	}
}

// assembly puts the entries of a command together again. A new leader may have replaced the last ones by others.
type assembly struct {
	id     proposalID
	term   uint64
	pieces []byte
	first  uint64 // index of the first entry; 0 without one
}

// add takes the payload of the entry with an index; whole is the command if that was its last one. The caller owns it.
func (a *assembly) add(kind byte, id proposalID, index, term uint64, payload []byte) (whole []byte, ok bool) {
	if a.first != 0 && (a.id != id || a.term != term) {
		*a = assembly{}
	}
	if kind == commandKind && a.first == 0 {
		return payload, true
	}
	if a.first == 0 {
		a.id, a.term, a.first = id, term, index
	}
	a.pieces = append(a.pieces, payload...)
	if kind == fragmentKind {
		return nil, false
	}
	whole = a.pieces
	*a = assembly{}
	return whole, true
}
