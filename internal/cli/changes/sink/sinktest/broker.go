package sinktest

import (
	"context"
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Broker is a broker with a topic or a subject named changes.
type Broker interface {
	// Address is what --to takes.
	Address() string
	// Stop stops the broker, Kafka itself by a kill, and Start starts it again, where it was, with what it had.
	Stop()
	Start()
	// Events returns the records that a client sees, in the order of each partition, and the partitions in theirs.
	Events() []Event
}

// Event is a record.
type Event struct {
	Partition int
	Key       string
	Token     string
	Commit    int64
	Seq       int64
	Last      bool
	Value     string // "": a tombstone
}

// freePort returns a port of the loopback interface that nothing listens at.
func freePort(t testing.TB) int {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().(*net.TCPAddr).Port
}

func number(t testing.TB, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}
