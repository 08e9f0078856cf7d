package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
)

func newFetch(a *app) *cobra.Command {
	var file, method string
	cmd := &cobra.Command{
		Use: "fetch [REQUEST]", Short: "Run a JSON-array fetch; - reads the request from standard input", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var request []byte
			var err error
			switch {
			case file != "" && len(args) == 0:
				if request, err = os.ReadFile(file); err != nil {
					return cli.Error{Code: cli.Usage, Err: fmt.Errorf("--file: %w", err)}
				}
			case len(args) == 1 && file == "" && args[0] == "-":
				if request, err = io.ReadAll(cmd.InOrStdin()); err != nil {
					return err
				}
			case len(args) == 1 && file == "":
				request = []byte(args[0])
			default:
				return cli.Usagef("fetch: give either a request or -f FILE")
			}
			return a.fetch(cmd, method, request)
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "file that holds the request")
	cmd.Flags().StringVar(&method, "method", "get", "get, head, gets, heads, post, put or delete")
	return cmd
}

func (a *app) fetch(cmd *cobra.Command, method string, request []byte) error {
	conn, ctx, cancel, err := a.Dial(cmd.Context())
	if err != nil {
		return err
	}
	defer cancel()
	defer conn.Close()
	req := &pb.FetchRequest{Graph: a.Graph, Method: method, Request: request}
	if a.Timeout > 0 {
		req.Timeout = durationpb.New(a.Timeout)
	}
	stream, err := pb.NewGraphServiceClient(conn).Fetch(ctx, req)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	code := uint32(0)
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
			if code != http.StatusOK {
				return fmt.Errorf("fetch: the response has code %d", code)
			}
			return nil
		}
		if err != nil {
			return err
		}
		code = part.GetCode()
		if _, err := w.Write(part.GetChunk()); err != nil {
			return err
		}
	}
}
