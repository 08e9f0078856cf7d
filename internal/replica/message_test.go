package replica

import (
	"testing"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// TestMessages encodes messages and reads them again; those that keep a leader in office are urgent, entries are not.
func TestMessages(t *testing.T) {
	entries := &Message{Type: pb.MsgApp.Enum(), From: new(uint64(1)), To: new(uint64(2)), Term: new(uint64(3)), Entries: []*pb.Entry{{Index: new(uint64(4)), Data: []byte("entry")}}}
	beat := &Message{Type: pb.MsgHeartbeat.Enum(), From: new(uint64(1)), To: new(uint64(2)), Context: []byte("read")}
	for _, m := range []*Message{entries, beat} {
		b, err := AppendMessage([]byte("before"), m)
		require.NoError(t, err)
		got, err := ReadMessage(b[len("before"):])
		require.NoError(t, err)
		require.True(t, proto.Equal(m, got))
		require.GreaterOrEqual(t, MessageSize(m), int64(len(b)-len("before")))
	}
	require.True(t, Urgent(beat))
	require.False(t, Urgent(entries))
	_, err := ReadMessage([]byte{0xff})
	require.Error(t, err)
}

// FuzzMessage reads any bytes as a message: what decodes encodes to a message that is equal.
func FuzzMessage(f *testing.F) {
	for _, m := range []*Message{
		{Type: pb.MsgApp.Enum(), To: new(uint64(2)), Entries: []*pb.Entry{{Index: new(uint64(4)), Data: []byte("entry")}, nil}},
		{Type: pb.MsgReadIndexResp.Enum(), Context: []byte("read"), Reject: new(true)},
		{},
	} {
		b, err := AppendMessage(nil, m)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ReadMessage(b)
		if err != nil {
			return
		}
		_ = Urgent(m)
		again, err := AppendMessage(nil, m)
		require.NoError(t, err)
		got, err := ReadMessage(again)
		require.NoError(t, err)
		require.True(t, proto.Equal(m, got))
		require.Equal(t, MessageSize(m), MessageSize(got))
	})
}
