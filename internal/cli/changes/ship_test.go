package changes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"google.golang.org/grpc"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/cli/changes/sink"
	"github.com/hopgate/hopgate/internal/cli/changes/sink/sinktest"
)

// source is a server whose graph has had some transactions. The token after event i is t<i+1>.
type source struct {
	pb.GraphServiceClient
	events   []*pb.ChangeEvent
	snapshot int                   // how many of the events are of a snapshot, within which no stream continues
	parts    func(parts int) error // is called before each part
}

// newSource makes transactions of one to five events, and a larger one, on elements that recur.
func newSource(rng *rand.Rand, transactions int) *source {
	s := &source{}
	for tx := range transactions {
		n := 1 + rng.IntN(5)
		if tx == transactions/2 {
			n = 2000
		}
		for i := range n {
			s.add(int64(tx+1), i, i == n-1, fmt.Sprintf("v0:%d", rng.IntN(50)), "u")
		}
	}
	return s
}

func (s *source) add(tx int64, seq int, last bool, element, operation string) {
	s.events = append(s.events, &pb.ChangeEvent{
		Id: "t" + strconv.Itoa(len(s.events)+1), TxId: tx, Seq: int64(seq), Last: last,
		Json: fmt.Appendf(nil, `{"n":%d,"event":{"elementId":%q,"operation":%q}}`, len(s.events), element, operation),
	})
}

func (s *source) Changes(ctx context.Context, req *pb.ChangesRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[pb.ChangesResponse], error) {
	at := 0
	if req.GetFrom() != "earliest" {
		n, err := strconv.Atoi(strings.TrimPrefix(req.GetFrom(), "t"))
		if err != nil {
			return nil, err
		}
		if n >= s.snapshot {
			at = n
		}
	}
	return &calls{s: s, ctx: ctx, at: at}, nil
}

type calls struct {
	grpc.ClientStream
	s         *source
	ctx       context.Context
	at, parts int
}

func (c *calls) Recv() (*pb.ChangesResponse, error) {
	if c.parts++; c.s.parts != nil {
		if err := c.s.parts(c.parts); err != nil {
			return nil, err
		}
	}
	to := min(c.at+7, len(c.s.events))
	if c.parts == 1 {
		to = c.at
	} else if to == c.at {
		return nil, io.EOF
	}
	res := &pb.ChangesResponse{Events: c.s.events[c.at:to], Token: "t" + strconv.Itoa(to)}
	c.at = to
	return res, c.ctx.Err()
}

// shipTo writes a source to a sink until the source ends.
func shipTo(ctx context.Context, s *source, address string, o sink.Options) error {
	return ship(ctx, address, o, func(from string) *Stream {
		if from == "" {
			from = "earliest"
		}
		return NewStream(s, &pb.ChangesRequest{From: from}, func(error) {})
	})
}

// requireAll checks that each event is there once, in order within its partition, and whole transactions in order if there is one partition.
func requireAll(t *testing.T, s *source, got []sinktest.Event) {
	require.Len(t, got, len(s.events))
	seen, last, partitions := make([]bool, len(s.events)), map[int]int{}, map[string]int{}
	for _, e := range got {
		n, err := strconv.Atoi(strings.TrimPrefix(e.Token, "t"))
		require.NoError(t, err)
		require.False(t, seen[n-1], "%s is there twice", e.Token)
		seen[n-1] = true
		require.Greater(t, n, last[e.Partition])
		last[e.Partition] = n
		want := s.events[n-1]
		require.Equal(t, []any{want.GetTxId(), want.GetSeq(), want.GetLast(), string(want.GetJson())}, []any{e.Commit, e.Seq, e.Last, e.Value})
		if at, ok := partitions[e.Key]; ok {
			require.Equal(t, at, e.Partition, e.Key)
		}
		partitions[e.Key] = e.Partition
	}
}

func brokers(t *testing.T, f func(t *testing.T, b sinktest.Broker)) {
	t.Run("kafka", func(t *testing.T) { f(t, sinktest.Kafka(t, 3)) })
	t.Run("nats", func(t *testing.T) { f(t, sinktest.NATS(t, nil)) })
	t.Run("jvm", func(t *testing.T) { f(t, sinktest.JVM(t, 3)) })
}

// resume calls Resume until the broker, which may have just begun, is ready.
func resume(t *testing.T, to sink.Sink) string {
	for {
		token, err := to.Resume(t.Context())
		if err == nil {
			return token
		}
		require.True(t, sink.Temporary(err), "%v", err)
	}
}

var errKilled = errors.New("killed")

// Runs end anywhere, without a word to the broker, and others follow: each event is there once, and in order.
func TestShipIsKilled(t *testing.T) {
	brokers(t, func(t *testing.T, b sinktest.Broker) {
		rng := rand.New(rand.NewPCG(1, 2))
		s := newSource(rng, 400)
		for round := range 12 {
			at, n := 1+rng.IntN(60*(1+round)), 0
			s.parts = func(int) error {
				if n++; n == at {
					return errKilled
				}
				return nil
			}
			to, err := sink.Open(t.Context(), b.Address(), sink.Options{})
			require.NoError(t, err)
			defer to.Close() // long after the next one has taken over
			err = (&shipper{to: to, lost: func(error) {}, open: func(from string) *Stream {
				if from == "" {
					from = "earliest"
				}
				return NewStream(s, &pb.ChangesRequest{From: from}, func(error) {})
			}}).run(t.Context())
			if err != nil {
				require.ErrorIs(t, err, errKilled)
			}
		}
		s.parts = nil
		require.NoError(t, shipTo(t.Context(), s, b.Address(), sink.Options{}))
		requireAll(t, s, b.Events())
		require.NoError(t, shipTo(t.Context(), s, b.Address(), sink.Options{}))
		require.Len(t, b.Events(), len(s.events), "a further run has nothing to write")
	})
}

// The broker is stopped and starts again while events come: the run goes on.
func TestBrokerRestarts(t *testing.T) {
	brokers(t, func(t *testing.T, b sinktest.Broker) {
		s, n := newSource(rand.New(rand.NewPCG(3, 4)), 200), 0
		s.parts = func(int) error {
			n++
			if n == 40 || n == 120 || n == 300 {
				b.Stop()
				b.Start()
			}
			return nil
		}
		require.NoError(t, shipTo(t.Context(), s, b.Address(), sink.Options{Lost: func(err error) { t.Log(err) }}))
		requireAll(t, s, b.Events())
		require.Greater(t, n, 300)
	})
}

// A run that waits for a broker connects a few times each second.
func TestBrokerIsAway(t *testing.T) {
	b := sinktest.Kafka(t, 1)
	var lost atomic.Int64
	to, err := sink.Open(t.Context(), b.Address(), sink.Options{Lost: func(error) { lost.Add(1) }})
	require.NoError(t, err)
	defer to.Close()
	resume(t, to)
	require.NoError(t, to.Add(t.Context(), sink.Event{Token: "t1", Commit: 1, Last: true, Key: "v0:1", Value: []byte("1")}))
	require.NoError(t, to.Keep(t.Context(), "t1"))
	b.Stop()
	require.NoError(t, to.Add(t.Context(), sink.Event{Token: "t2", Commit: 2, Last: true, Key: "v0:1", Value: []byte("2")}))
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	require.True(t, sink.Temporary(to.Keep(ctx, "t2")))
	require.Less(t, lost.Load(), int64(100))
	b.Start()
	require.Equal(t, "t1", resume(t, to))
	require.Len(t, b.Events(), 1)
}

// A run that another one has taken over can neither write nor keep a position.
func TestZombieIsFenced(t *testing.T) {
	brokers(t, func(t *testing.T, b sinktest.Broker) {
		s := newSource(rand.New(rand.NewPCG(5, 6)), 20)
		zombie, err := sink.Open(t.Context(), b.Address(), sink.Options{})
		require.NoError(t, err)
		defer zombie.Close()
		resume(t, zombie)
		require.NoError(t, zombie.Add(t.Context(), sink.Event{Token: "t1", Commit: 1, Last: true, Key: "v0:1", Value: s.events[0].GetJson()}))
		if _, ok := strings.CutPrefix(b.Address(), "nats"); ok { // a message is there once it is taken
			s.events[0] = &pb.ChangeEvent{Id: "t1", TxId: 1, Last: true, Json: s.events[0].GetJson()}
			require.NoError(t, zombie.Keep(t.Context(), "t1"))
		}
		require.NoError(t, shipTo(t.Context(), s, b.Address(), sink.Options{}))
		for range 3 {
			err = zombie.Add(t.Context(), sink.Event{Token: "other", Commit: 1, Seq: 1, Last: true, Key: "v0:1", Value: []byte("again")})
			if err == nil {
				err = zombie.Keep(t.Context(), "other")
			}
			require.Error(t, err)
			if sink.Temporary(err) {
				_, err = zombie.Resume(t.Context())
			}
			var e *sink.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, sink.Fenced, e.Code, err)
		}
		requireAll(t, s, b.Events())
	})
}

// A snapshot cannot be continued: Kafka has it once all the same, since it has it in one transaction.
func TestSnapshotIsWhole(t *testing.T) {
	s := &source{}
	for i := range 12_000 {
		s.add(0, i, i == 11_999, fmt.Sprintf("v0:%d", i), "r")
	}
	s.snapshot = len(s.events)
	s.add(1, 0, true, "v0:1", "u")
	b := sinktest.Kafka(t, 2)
	n := 0
	s.parts = func(int) error {
		if n++; n == 500 || n == 1900 {
			return errKilled
		}
		return nil
	}
	require.ErrorIs(t, shipTo(t.Context(), s, b.Address(), sink.Options{}), errKilled)
	require.Empty(t, b.Events())
	require.ErrorIs(t, shipTo(t.Context(), s, b.Address(), sink.Options{}), errKilled)
	require.NoError(t, shipTo(t.Context(), s, b.Address(), sink.Options{}))
	requireAll(t, s, b.Events())
}

// A stream without events keeps its position, from the first one on.
func TestIdlePositionIsKept(t *testing.T) {
	brokers(t, func(t *testing.T, b sinktest.Broker) {
		s := &source{snapshot: 0}
		for i := range 10 {
			s.add(int64(i+1), 0, true, "v0:1", "u")
		}
		at := func() string {
			to, err := sink.Open(t.Context(), b.Address(), sink.Options{})
			require.NoError(t, err)
			defer to.Close()
			return resume(t, to)
		}
		require.Empty(t, at())
		keep := func(token string) {
			to, err := sink.Open(t.Context(), b.Address(), sink.Options{})
			require.NoError(t, err)
			defer to.Close()
			resume(t, to)
			require.NoError(t, to.Keep(t.Context(), token))
			require.NoError(t, to.Keep(t.Context(), token))
		}
		keep("t4")
		require.Equal(t, "t4", at())
		require.NoError(t, shipTo(t.Context(), s, b.Address(), sink.Options{}))
		require.Len(t, b.Events(), 6)
		require.Equal(t, "t10", at())
		keep("t12")
		keep("t13")
		require.Equal(t, "t13", at())
		require.Len(t, b.Events(), 6)
	})
}

// Debezium's form has keys that are objects, and a tombstone behind each deletion.
func TestDebezium(t *testing.T) {
	b := sinktest.Kafka(t, 1)
	s := &source{events: []*pb.ChangeEvent{
		{Id: "t1", TxId: 1, Json: []byte(`{"before":null,"after":{"elementId":"v0:1"},"op":"c"}`)},
		{Id: "t2", TxId: 1, Seq: 1, Json: []byte(`{"before":{"elementId":"v0:1"},"after":null,"op":"d"}`)},
		{Id: "t3", TxId: 1, Seq: 2, Last: true, Json: []byte(`{"before":null,"after":null,"op":"m"}`)},
	}}
	require.NoError(t, shipTo(t.Context(), s, b.Address()+"?transactional.id=a", sink.Options{Debezium: true}))
	keys := func() (list []string) {
		for _, e := range b.Events() {
			list = append(list, fmt.Sprintf("%s=%d", e.Key, len(e.Value)))
		}
		return list
	}
	want := []string{`{"elementId":"v0:1"}=53`, `{"elementId":"v0:1"}=53`, `{"elementId":"v0:1"}=0`, `=37`}
	require.Equal(t, want, keys())
	require.NoError(t, shipTo(t.Context(), s, b.Address()+"?transactional.id=b&tombstones.on.delete=false", sink.Options{Debezium: true}))
	require.Equal(t, append(want, want[0], want[1], want[3]), keys())
}

// Each failure has its code, and loses nothing: the next run begins where the last one stood.
func TestShipErrors(t *testing.T) {
	large := func() *source {
		s := &source{}
		s.add(1, 0, true, "v0:1", "u")
		s.events[0].Json = []byte(`{"event":{"elementId":"v0:1"},"text":"` + strings.Repeat("0123456789abcdef", 1<<18) + `"}`)
		return s
	}
	one := &source{}
	one.add(1, 0, true, "v0:1", "u")
	k, n := sinktest.Kafka(t, 1), sinktest.NATS(t, nil)
	secured := sinktest.Kafka(t, 1, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "ann", "secret"), kfake.Superuser("PLAIN", "ann", "secret"))
	guarded := sinktest.NATS(t, func(o *server.Options, _ *jetstream.StreamConfig) { o.Username, o.Password = "ann", "secret" })
	queue := sinktest.NATS(t, func(_ *server.Options, c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy })
	small := sinktest.NATS(t, func(_ *server.Options, c *jetstream.StreamConfig) { c.MaxMsgSize = 300 })
	as := func(b sinktest.Broker, user, params string) string {
		return strings.Replace(b.Address(), "://", "://"+user+"@", 1) + params
	}
	for _, c := range []struct {
		s        *source
		to, code string
		password string
		wants    string
	}{
		{large(), k.Address(), "SinkEventTooLarge", "", "event t1: of 4194"},
		{large(), n.Address(), "SinkEventTooLarge", "", "max_payload 1048576"},
		{one, strings.Replace(k.Address(), "/changes", "/others", 1), "SinkNotFound", "", "topic others does not exist: create it"},
		{one, strings.Replace(n.Address(), "/changes", "/others", 1), "SinkNotFound", "", "no stream takes subject others"},
		{one, n.Address() + "?stream=OTHERS", "SinkNotFound", "", "stream OTHERS does not exist"},
		{one, queue.Address(), "SinkUnfit", "", "use retention limits"},
		{one, as(secured, "ann", "?security.protocol=SASL_PLAINTEXT&sasl.mechanism=SCRAM-SHA-256"), "", "secret", ""},
		{one, as(secured, "ann", "?security.protocol=SASL_PLAINTEXT&sasl.mechanism=PLAIN"), "", "secret", ""},
		{one, as(guarded, "ann", ""), "SinkDenied", "wrong", "Authorization"},
		{one, as(guarded, "ann", ""), "", "secret", ""},
		{one, n.Address(), "", "", ""},
		{large(), small.Address(), "SinkEventTooLarge", "", "event t1"},
		{one, small.Address(), "", "", ""},
	} {
		t.Setenv("GRAPHCTL_SINK_PASSWORD", c.password)
		err := shipTo(t.Context(), c.s, c.to, sink.Options{})
		if c.code == "" {
			require.NoError(t, err, c.to)
			continue
		}
		require.ErrorContains(t, err, c.code+": ", c.to)
		require.ErrorContains(t, err, c.wants, c.to)
		require.Equal(t, cli.Failed, cli.ExitCode(err))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorContains(t, shipTo(ctx, one, "kafka://127.0.0.1:1/changes", sink.Options{}), "SinkUnreachable")
	require.ErrorContains(t, shipTo(ctx, one, "nats://127.0.0.1:1/changes", sink.Options{}), "SinkUnreachable")
}
