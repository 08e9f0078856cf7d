// Package bridge passes messages of the Model Context Protocol between standard input and output, one a line, and a server, which answers
// them by gRPC. It ends a request at the server when its client cancels it.
package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
)

// maxMessage bounds a message, in bytes.
const maxMessage = 4 << 20

// bridge passes JSON-RPC messages, one a line, to the server and its answers back.
type bridge struct {
	service pb.GraphServiceClient
	options *pb.AgentRequest

	mu      sync.Mutex
	out     io.Writer
	running map[string]context.CancelFunc // by the JSON text of the id of the request
	failed  error                         // of out
}

// Run passes messages until the input ends and all are answered. options are those of each request, without its message.
func Run(ctx context.Context, service pb.GraphServiceClient, options *pb.AgentRequest, in io.Reader, out io.Writer) error {
	b := &bridge{service: service, options: options, out: out, running: map[string]context.CancelFunc{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxMessage)
	var calls sync.WaitGroup
	for lines.Scan() {
		message := bytes.TrimSpace(bytes.Clone(lines.Bytes()))
		if len(message) == 0 {
			continue
		}
		var head struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				RequestID json.RawMessage `json:"requestId"`
			} `json:"params"`
		}
		_ = json.Unmarshal(message, &head) // the server says what is wrong with it
		if head.Method == "notifications/cancelled" {
			b.cancel(string(head.Params.RequestID))
			continue
		}
		call, cancel := context.WithCancel(ctx)
		id := string(head.ID)
		b.mu.Lock()
		b.running[id] = cancel
		b.mu.Unlock()
		calls.Go(func() {
			defer b.cancel(id)
			b.pass(call, message, head.ID)
		})
	}
	calls.Wait()
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a message is larger than %d bytes", maxMessage)
	}
	return errors.Join(lines.Err(), b.failed)
}

// cancel ends a request, if it runs.
func (b *bridge) cancel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.running[id]; cancel != nil {
		cancel()
		delete(b.running, id)
	}
}

// pass sends one message and writes its answer.
func (b *bridge) pass(ctx context.Context, message []byte, id json.RawMessage) {
	res, err := b.service.Agent(ctx, &pb.AgentRequest{
		Message: message, Graph: b.options.GetGraph(), Profile: b.options.GetProfile(), Tokens: b.options.GetTokens(),
	})
	answer := bytes.TrimSpace(res.GetMessage())
	switch {
	case err != nil && (len(id) == 0 || ctx.Err() != nil):
		return // a notification, or cancelled: nobody waits
	case err != nil:
		answer, _ = json.Marshal(map[string]any{ // strings always have a form
			"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": -32603, "message": status.Convert(err).Message()},
		})
	case len(answer) == 0:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := fmt.Fprintf(b.out, "%s\n", answer); err != nil && b.failed == nil {
		b.failed = err
	}
}
