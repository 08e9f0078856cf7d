package grpcapi

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The memory of a decoded message and of a field that is one or holds text, besides its content.
const (
	messageBytes = 80
	contentBytes = 24
	scalarBytes  = 8
)

// decodedSize estimates the memory of a message that decodes from b. It reads the lengths of b only, and stops where b is no such
// message, which decoding will say, or beyond most.
func decodedSize(d protoreflect.MessageDescriptor, b []byte, most int) int {
	size := messageBytes
	for len(b) > 0 && size <= most {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			break
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			break
		}
		f := d.Fields().ByNumber(number)
		switch {
		case kind != protowire.BytesType:
			size += scalarBytes
		case f != nil && f.Message() != nil:
			in, _ := protowire.ConsumeBytes(b[:n])
			size += contentBytes + decodedSize(f.Message(), in, most-size)
		case f != nil && f.IsPacked():
			size += contentBytes + n*scalarBytes
		default:
			size += contentBytes + n
		}
		b = b[n:]
	}
	return size
}
