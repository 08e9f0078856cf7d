package bridge

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// service answers messages by their method.
type service struct {
	pb.GraphServiceClient
	began, ended chan string
}

func (s *service) Agent(ctx context.Context, req *pb.AgentRequest, _ ...grpc.CallOption) (*pb.AgentResponse, error) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(req.GetMessage(), &m)
	switch m.Method {
	case "wait":
		s.began <- string(m.ID)
		<-ctx.Done()
		s.ended <- string(m.ID)
		return nil, ctx.Err()
	case "fail":
		return nil, status.Error(codes.PermissionDenied, "no")
	case "note":
		return &pb.AgentResponse{}, nil
	}
	return &pb.AgentResponse{Message: []byte(req.GetGraph() + ":" + string(m.ID))}, nil
}

func TestRun(t *testing.T) {
	in, write := io.Pipe()
	var out strings.Builder
	s := &service{began: make(chan string, 1), ended: make(chan string, 1)}
	done := make(chan error, 1)
	go func() { done <- Run(t.Context(), s, &pb.AgentRequest{Graph: "g"}, in, &out) }()
	send := func(line string) {
		_, err := io.WriteString(write, line+"\n")
		require.NoError(t, err)
	}
	send(`{"id": 1, "method": "wait"}`)
	require.Equal(t, "1", <-s.began)
	send(`{"method": "notifications/cancelled", "params": {"requestId": 1}}`)
	require.Equal(t, "1", <-s.ended, "a client's cancellation ends the request")
	send("")
	send(`{"id": 2, "method": "x"}`)
	send(`{"id": "three", "method": "fail"}`)
	send(`{"method": "note"}`)
	send(`nonsense`)
	require.NoError(t, write.Close())
	require.NoError(t, <-done)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(lines)
	require.Equal(t, []string{"g:", "g:2", `{"error":{"code":-32603,"message":"no"},"id":"three","jsonrpc":"2.0"}`}, lines)
}

func TestTooLarge(t *testing.T) {
	err := Run(t.Context(), &service{}, &pb.AgentRequest{}, strings.NewReader(strings.Repeat("x", maxMessage+1)), io.Discard)
	require.ErrorContains(t, err, "larger than")
}
