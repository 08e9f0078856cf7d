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
