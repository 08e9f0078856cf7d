package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	pb "go.etcd.io/raft/v3/raftpb"
)

// A record of the log store is the CRC-32C (4 bytes) of its key and payload, followed by the payload. The checksum detects
// flipped bits and records under the wrong key.

// ErrDamaged reports that a log failed its checks. Its replica must no longer vote or acknowledge entries: a replica with a new
// ID replaces it.
var ErrDamaged = errors.New("replica: the log is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumSize = 4

// seal appends a record to dst; payload appends its content.
func seal(dst, key []byte, payload func(dst []byte) []byte) []byte {
	from := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = payload(dst)
	binary.BigEndian.PutUint32(dst[from:], sum(key, dst[from+sumSize:]))
	return dst
}

// unseal verifies a record and returns its payload, or ErrDamaged.
func unseal(key, record []byte) ([]byte, error) {
	if len(record) < sumSize {
		return nil, fmt.Errorf("%w: a record of %d bytes at key %x", ErrDamaged, len(record), key)
	}
	payload := record[sumSize:]
	if binary.BigEndian.Uint32(record) != sum(key, payload) {
		return nil, fmt.Errorf("%w: wrong checksum at key %x", ErrDamaged, key)
	}
	return payload, nil
}

func sum(key, payload []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, payload)
}

// appendNumbers appends the payload of a hard state (term, vote, commit) or of a log's start (index, term).
func appendNumbers(dst []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

// readNumbers decodes a payload that holds exactly these numbers.
func readNumbers(payload []byte, numbers ...*uint64) error {
	for _, p := range numbers {
		n, size := binary.Uvarint(payload)
		if size <= 0 {
			return fmt.Errorf("%w: a record has too few numbers", ErrDamaged)
		}
		*p, payload = n, payload[size:]
	}
	if len(payload) > 0 {
		return fmt.Errorf("%w: %d bytes follow the numbers of a record", ErrDamaged, len(payload))
	}
	return nil
}

// appendEntry appends the payload of an entry: type, term and data. The index is in the key.
func appendEntry(dst []byte, e *pb.Entry) []byte {
	dst = append(dst, byte(e.GetType()))
	dst = binary.AppendUvarint(dst, e.GetTerm())
	return append(dst, e.GetData()...)
}

// readEntry decodes the entry with an index. Its data aliases the payload.
func readEntry(index uint64, payload []byte) (*pb.Entry, error) {
	if len(payload) == 0 || payload[0] > byte(pb.EntryConfChangeV2) {
		return nil, fmt.Errorf("%w: entry %d is of no known type", ErrDamaged, index)
	}
	kind := pb.EntryType(payload[0])
	term, size := binary.Uvarint(payload[1:])
	if size <= 0 || term == 0 {
		return nil, fmt.Errorf("%w: entry %d has no term", ErrDamaged, index)
	}
	e := &pb.Entry{Index: &index, Term: &term, Type: &kind}
	if data := payload[1+size:]; len(data) > 0 {
		e.Data = data
	}
	return e, nil
}
