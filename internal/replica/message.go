package replica

import (
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// Message is what members of a group send each other.
type Message = pb.Message

// AppendMessage appends the encoded form of a message to dst.
func AppendMessage(dst []byte, m *Message) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(dst, m)
}

// ReadMessage decodes a message. It may share the memory of b.
func ReadMessage(b []byte) (*Message, error) {
	m := &Message{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, err
	}
	return m, nil
}

// MessageSize is about how many bytes a message takes.
func MessageSize(m *Message) int64 {
	size := int64(64)
	for _, e := range m.GetEntries() {
		size += int64(len(e.GetData())) + 16
	}
	return size
}

// Urgent reports whether a message keeps elections and leases going, so that it must not wait behind entries.
func Urgent(m *Message) bool {
	switch m.GetType() {
	case pb.MsgHeartbeat, pb.MsgHeartbeatResp, pb.MsgVote, pb.MsgVoteResp, pb.MsgPreVote, pb.MsgPreVoteResp, pb.MsgTimeoutNow:
		return true
	default:
		return false
	}
}
