package main

import (
	"github.com/spf13/cobra"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/bridge"
)

func newMCP(a *app) *cobra.Command {
	var profile string
	var tokens uint32
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve a graph to an agent on standard input and output, by the Model Context Protocol", Args: cobra.NoArgs,
		Long: "Serve a graph to an agent on standard input and output, by the Model Context Protocol.\n" +
			"The server answers the messages, with the rights of --token. POST /mcp of the server's HTTP address is the same without this program.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.Timeout = 0 // of the connection; the server bounds each call
			conn, ctx, cancel, err := a.Dial(cmd.Context())
			if err != nil {
				return err
			}
			defer conn.Close()
			defer cancel()
			options := &pb.AgentRequest{Graph: a.Graph, Profile: profile, Tokens: tokens}
			return bridge.Run(ctx, pb.NewGraphServiceClient(conn), options, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "", "tools to offer: reader, rag (searches, no statements) or admin; default: what the token permits")
	cmd.Flags().Uint32Var(&tokens, "tokens", 0, "tokens of an answer, unless a call says otherwise; default 4000")
	return cmd
}
