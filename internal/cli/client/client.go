// Package client has what the commands of graphctl share: the connection to the server with its flags, and the form of a command that
// makes one call.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/cli"
)

// Server is the server that a command talks to, and the graph there.
type Server struct {
	Address, Graph, Token     string
	TLS                       bool
	CAFile, CertFile, KeyFile string
	Timeout                   time.Duration // for the request; 0: no limit
}

// Flags defines the flags.
func (s *Server) Flags(f *pflag.FlagSet) {
	f.StringVar(&s.Address, "address", env("GRAPHCTL_ADDRESS", "127.0.0.1:9090"), "the server's gRPC address (GRAPHCTL_ADDRESS)")
	f.StringVar(&s.Graph, "graph", "default", "the graph")
	f.StringVar(&s.Token, "token", os.Getenv("GRAPHCTL_TOKEN"), "bearer token (GRAPHCTL_TOKEN)")
	f.BoolVar(&s.TLS, "tls", false, "connect by TLS")
	f.StringVar(&s.CAFile, "tls-ca", "", "file of certificates to trust instead of the system's")
	f.StringVar(&s.CertFile, "tls-cert", "", "file of the client's certificate")
	f.StringVar(&s.KeyFile, "tls-key", "", "file of the client's key")
	f.DurationVar(&s.Timeout, "timeout", 0, "time for the request; 0 is no limit")
}

func env(name, fallback string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return fallback
}

// Dial connects to the server. It returns a context with the deadline and the token of the flags.
func (s *Server) Dial(ctx context.Context) (*grpc.ClientConn, context.Context, context.CancelFunc, error) {
	if s.Timeout < 0 {
		return nil, nil, nil, cli.Usagef("--timeout %v: must not be negative", s.Timeout)
	}
	creds := insecure.NewCredentials()
	if s.TLS || s.CAFile != "" || s.CertFile != "" {
		c, err := s.tlsConfig()
		if err != nil {
			return nil, nil, nil, cli.Error{Code: cli.Usage, Err: err}
		}
		creds = credentials.NewTLS(c)
	}
	opts := []grpc.DialOption{grpc.WithTransportCredentials(creds), grpc.WithInitialWindowSize(1 << 20), grpc.WithInitialConnWindowSize(4 << 20)}
	if s.Token != "" {
		opts = append(opts, grpc.WithPerRPCCredentials(bearer{s.Token, s.TLS}))
	}
	conn, err := grpc.NewClient(s.Address, opts...)
	if err != nil {
		return nil, nil, nil, cli.Error{Code: cli.Usage, Err: fmt.Errorf("--address %s: %w", s.Address, err)}
	}
	cancel := context.CancelFunc(func() {})
	if s.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, s.Timeout)
	}
	return conn, ctx, cancel, nil
}

func (s *Server) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CAFile != "" {
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--tls-ca: %s holds no certificate", s.CAFile)
		}
	}
	if s.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(s.CertFile, s.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// bearer adds a token to every call.
type bearer struct {
	token  string
	secure bool
}

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.token}, nil
}

func (b bearer) RequireTransportSecurity() bool { return b.secure }

// Command returns a command that makes one call of AdminService and prints the answer.
func Command[R proto.Message](s *Server, use, short string, args cobra.PositionalArgs,
	call func(ctx context.Context, c pb.AdminServiceClient, args []string) (R, error), print func(w io.Writer, res R),
) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "table" && output != "json" {
				return cli.Usagef("--output %s: must be table or json", output)
			}
			conn, ctx, cancel, err := s.Dial(cmd.Context())
			if err != nil {
				return err
			}
			defer cancel()
			defer conn.Close()
			res, err := call(ctx, pb.NewAdminServiceClient(conn), args)
			if err != nil {
				return err
			}
			if output == "json" {
				return cli.PrintJSON(cmd.OutOrStdout(), res)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			print(w, res)
			return w.Flush()
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

// OnlySubcommands rejects arguments of a command that has only subcommands, and suggests a likely one.
func OnlySubcommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	names := cmd.SuggestionsFor(args[0])
	for _, c := range cmd.Commands() {
		aliases := &cobra.Command{SuggestionsMinimumDistance: 2}
		for _, a := range c.Aliases {
			aliases.AddCommand(&cobra.Command{Use: a, Run: func(*cobra.Command, []string) {}})
		}
		names = append(names, aliases.SuggestionsFor(args[0])...)
	}
	if len(names) > 0 {
		text += DidYouMean(names)
	}
	return cli.Usagef("%s", text)
}

// DidYouMean suggests names at the end of a message.
func DidYouMean(names []string) string { return "; did you mean " + strings.Join(names, " or ") + "?" }
