package sinktest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

type natsServer struct {
	t    testing.TB
	opts server.Options
	s    *server.Server
}

// NATS starts a server with a stream; set changes its settings.
func NATS(t testing.TB, set func(*server.Options, *jetstream.StreamConfig)) Broker {
	n := &natsServer{t: t, opts: server.Options{
		Host: "127.0.0.1", Port: freePort(t), JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, DontListen: false,
	}}
	c := jetstream.StreamConfig{Name: "CHANGES", Subjects: []string{topic}}
	if set != nil {
		set(&n.opts, &c)
	}
	n.Start()
	t.Cleanup(n.Stop)
	js, done := n.client()
	defer done()
	_, err := js.CreateStream(context.Background(), c)
	require.NoError(t, err)
	return n
}

func (n *natsServer) Address() string {
	return fmt.Sprintf("nats://127.0.0.1:%d/%s", n.opts.Port, topic)
}

func (n *natsServer) Start() {
	opts := n.opts
	var err error
	n.s, err = server.NewServer(&opts)
	require.NoError(n.t, err)
	n.s.Start()
	require.True(n.t, n.s.ReadyForConnections(patience))
}

func (n *natsServer) Stop() {
	n.s.Shutdown()
	n.s.WaitForShutdown()
}

func (n *natsServer) client() (jetstream.JetStream, func()) {
	opts := []nats.Option{}
	if n.opts.Username != "" {
		opts = append(opts, nats.UserInfo(n.opts.Username, n.opts.Password))
	}
	if n.opts.TLSConfig != nil {
		opts = append(opts, nats.Secure(&tls.Config{RootCAs: n.opts.TLSConfig.RootCAs, MinVersion: tls.VersionTLS12}))
	}
	c, err := nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", n.opts.Port), opts...)
	require.NoError(n.t, err)
	js, err := jetstream.New(c)
	require.NoError(n.t, err)
	return js, c.Close
}

// Stream returns the stream of a server of NATS, until done.
func Stream(b Broker) (_ jetstream.Stream, done func()) {
	n := b.(*natsServer)
	js, done := n.client()
	s, err := js.Stream(context.Background(), "CHANGES")
	require.NoError(n.t, err)
	return s, done
}

func (n *natsServer) Events() (all []Event) {
	s, done := Stream(n)
	defer done()
	state := s.CachedInfo().State
	for seq := max(state.FirstSeq, 1); seq <= state.LastSeq; seq++ {
		m, err := s.GetMsg(context.Background(), seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		require.NoError(n.t, err)
		all = append(all, Event{
			Key: m.Header.Get("Hopgate-Element"), Token: m.Header.Get("Hopgate-Token"), Commit: number(n.t, m.Header.Get("Hopgate-Commit")),
			Seq: number(n.t, m.Header.Get("Hopgate-Seq")), Last: m.Header.Get("Hopgate-Last") == "true", Value: string(m.Data),
		})
	}
	return all
}
