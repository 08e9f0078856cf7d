package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/status"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
)

// maxAgentMessage bounds a message of an agent, in bytes.
const maxAgentMessage = 4 << 20

func newMCP(a *app) *cobra.Command {
	var profile string
	var tokens uint32
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve a graph to an agent on standard input and output, by the Model Context Protocol", Args: cobra.NoArgs,
		Long: "Serve a graph to an agent on standard input and output, by the Model Context Protocol.\n" +
			"The server answers the messages, with the rights of --token. POST /mcp of the server's HTTP address is the same without this program.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.timeout = 0 // of the connection; the server bounds each call
			conn, ctx, cancel, err := a.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer conn.Close()
			defer cancel()
			b := &agentBridge{
				service: pb.NewGraphServiceClient(conn), out: cmd.OutOrStdout(), running: map[string]context.CancelFunc{},
				options: &pb.AgentRequest{Graph: a.graph, Profile: profile, Tokens: tokens},
			}
			return b.run(ctx, cmd.InOrStdin())
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "", "tools to offer: reader, rag (searches, no statements) or admin; default: what the token permits")
	cmd.Flags().Uint32Var(&tokens, "tokens", 0, "tokens of an answer, unless a call says otherwise; default 4000")
	return cmd
}

// agentBridge passes JSON-RPC messages, one a line, to the server and its answers back.
type agentBridge struct {
	service pb.GraphServiceClient
	options *pb.AgentRequest

	mu      sync.Mutex
	out     io.Writer
	running map[string]context.CancelFunc // by the JSON text of the id of the request
	failed  error                         // of out
}

// run passes messages until the input ends and all are answered.
func (b *agentBridge) run(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxAgentMessage)
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
		return cli.Usagef("mcp: a message is larger than %d bytes", maxAgentMessage)
	}
	return errors.Join(lines.Err(), b.failed)
}

// cancel ends a request, if it runs.
func (b *agentBridge) cancel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.running[id]; cancel != nil {
		cancel()
		delete(b.running, id)
	}
}

// pass sends one message and writes its answer.
func (b *agentBridge) pass(ctx context.Context, message []byte, id json.RawMessage) {
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
