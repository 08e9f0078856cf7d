package serve

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"runtime"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/bolt"
	"github.com/hopgate/hopgate/internal/bolt/packstream"
	"github.com/hopgate/hopgate/internal/server/httpapi"
)

// answer is what a server has answered to a request.
type answer struct {
	Fields   http.Header // of HTTP
	Body     []byte
	Header   metadata.MD // of gRPC
	Messages [][]byte
	Trailer  metadata.MD
	Bolt     []byte // the chunks of all answers to RUN and PULL
}

// nullHTTP answers by the fields and the body of an answer.
type nullHTTP struct{ answer }

func (n *nullHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	maps.Copy(w.Header(), n.Fields)
	_, _ = w.Write(n.Body)
}

// nullGRPC answers by the messages and the metadata of an answer.
type nullGRPC struct {
	pb.UnimplementedGraphServiceServer
	answer
	messages []*pb.QueryResponse
}

func (n *nullGRPC) Query(_ *pb.QueryRequest, stream grpc.ServerStreamingServer[pb.QueryResponse]) error {
	_ = stream.SetHeader(n.Header)
	for _, m := range n.messages {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	stream.SetTrailer(n.Trailer)
	return nil
}

// nullBolt answers HELLO and LOGON by SUCCESS, RUN by nothing and PULL by the answer to both; it decodes the values of each message.
func nullBolt(l net.Listener, answer []byte) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go converse(c, answer)
	}
}

func converse(c net.Conn, answer []byte) {
	defer func() { _ = c.Close() }()
	in := bufio.NewReaderSize(c, 4<<10)
	if _, err := in.Discard(20); err != nil {
		return
	}
	if _, err := c.Write([]byte{0, 0, 4, 5}); err != nil {
		return
	}
	ok := chunk(packstream.AppendMap(packstream.AppendStruct(nil, 0x70, 1), 0))
	for r := bolt.NewReader(in); ; {
		m, err := r.Next(bolt.AtMost(1 << 20))
		if err != nil {
			return
		}
		d := packstream.NewDecoder(packstream.Form{UTC: true}, m)
		if _, _, err := d.Struct(); err != nil {
			return
		}
		for d.Left() > 0 {
			if _, err := d.Value(); err != nil {
				return
			}
		}
		switch bolt.Tag(m[1]) {
		case bolt.Run: // PULL follows
		case bolt.Pull:
			_, err = c.Write(answer)
		default:
			_, err = c.Write(ok)
		}
		if err != nil {
			return
		}
	}
}

// chunk returns a short message as one chunk.
func chunk(m []byte) []byte {
	return append(append([]byte{byte(len(m) >> 8), byte(len(m))}, m...), 0, 0)
}

// serveNull serves the null handlers, by the same libraries as the product's server.
func serveNull(o orders) (ready, func(), error) {
	addrs, ls := ready{}, map[string]net.Listener{}
	for _, name := range []string{"http", "grpc", "bolt"} {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		addrs[name], ls[name] = l.Addr().String(), l
	}
	null := &nullGRPC{answer: *o.Null}
	for _, bytes := range o.Null.Messages {
		m := &pb.QueryResponse{}
		if err := proto.Unmarshal(bytes, m); err != nil {
			return nil, nil, err
		}
		null.messages = append(null.messages, m)
	}
	web := httpapi.NewServer(&nullHTTP{*o.Null}, slog.New(slog.DiscardHandler))
	calls := grpc.NewServer(grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))))
	pb.RegisterGraphServiceServer(calls, null)
	go func() { _ = web.Serve(ls["http"]) }()
	go func() { _ = calls.Serve(ls["grpc"]) }()
	go nullBolt(ls["bolt"], o.Null.Bolt)
	return addrs, func() {
		_ = web.Close()
		calls.Stop()
		_ = ls["bolt"].Close()
	}, nil
}
