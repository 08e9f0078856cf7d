package tck

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/neo4j/neo4j-go-driver/v6/neo4j"
	"github.com/neo4j/neo4j-go-driver/v6/neo4j/dbtype"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader"
	"github.com/hopgate/hopgate/internal/server"
)

// bearer sends a token with each call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

// through returns the transports of a server of an engine, for the caller whom rule makes.
func (e *engine) through(t *testing.T) map[string]runner {
	const token = "the clerk's"
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	entry := fmt.Sprintf("tokens: [{name: ann, sha256: %x, roles: [clerk], claims: {yes: true}}]", sha256.Sum256([]byte(token)))
	require.NoError(t, os.WriteFile(file, []byte(entry), 0o600))
	auth, err := access.New(access.Options{TokensFile: file}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	s := server.New(e.whole, loader.New(e.store), nil, prometheus.NewRegistry(), server.Options{Auth: auth, Logger: slog.New(slog.DiscardHandler)})
	addrs, err := s.Listen(context.Background(), server.Addresses{"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", "admin": "127.0.0.1:0", "bolt": "127.0.0.1:0"})
	require.NoError(t, err)
	driver, err := neo4j.NewDriver("bolt://"+addrs["bolt"], neo4j.BearerAuth(token))
	require.NoError(t, err)
	conn, err := grpc.NewClient(addrs["grpc"], grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(bearer(token)))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		_ = driver.Close(context.Background())
		http.DefaultClient.CloseIdleConnections()
		s.Drain(context.Background())
	})
	return map[string]runner{"HTTP": httpTransport{addrs["http"], token}, "gRPC": grpcTransport{pb.NewGraphServiceClient(conn)}, "Bolt": boltTransport{driver}}
}

// boltTransport is a Bolt listener.
type boltTransport struct{ neo4j.Driver }

func (x boltTransport) run(statement string, params map[string]graph.Value) (*answer, error) {
	if len(params) > 0 {
		return nil, errors.New("parameters are not supported")
	}
	res, err := neo4j.ExecuteQuery(context.Background(), x, statement, nil, neo4j.EagerResultTransformer)
	if e, ok := errors.AsType[*neo4j.Neo4jError](err); ok {
		return nil, &graph.Error{Type: e.Code, Msg: e.Msg}
	}
	if err != nil {
		return nil, err
	}
	a := &answer{columns: res.Keys}
	for _, r := range res.Records {
		row := make([]any, len(r.Values))
		for i, v := range r.Values {
			if row[i], err = ofDriver(v); err != nil {
				return nil, err
			}
		}
		a.rows = append(a.rows, row)
	}
	return a, nil
}

// ofDriver converts a value of the driver as caseValue does.
func ofDriver(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return v, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = ofDriver(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			var err error
			if out[k], err = ofDriver(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case dbtype.Node:
		props, err := ofDriver(v.Props)
		if err != nil {
			return nil, err
		}
		labels := append([]string{}, v.Labels...)
		slices.Sort(labels)
		return &node{labels: labels, props: props.(map[string]any)}, nil
	case dbtype.Relationship:
		props, err := ofDriver(v.Props)
		if err != nil {
			return nil, err
		}
		return &rel{typ: v.Type, props: props.(map[string]any)}, nil
	case dbtype.Path:
		return ofPath(v)
	case fmt.Stringer: // a date, a time or a duration
		return v.String(), nil
	}
	return nil, fmt.Errorf("a value of type %T", v)
}

// ofPath returns a path of the driver, which has each node once, in the order of its relationships.
func ofPath(v dbtype.Path) (any, error) {
	nodes := map[string]any{}
	for _, n := range v.Nodes {
		x, err := ofDriver(n)
		if err != nil {
			return nil, err
		}
		nodes[n.ElementId] = x
	}
	at := v.Nodes[0].ElementId
	out := &path{elements: []any{nodes[at]}}
	for _, x := range v.Relationships {
		r, err := ofDriver(x)
		if err != nil {
			return nil, err
		}
		out.forward = append(out.forward, forward(x.StartElementId, x.EndElementId, at))
		if at == x.EndElementId {
			at = x.StartElementId
		} else {
			at = x.EndElementId
		}
		out.elements = append(out.elements, r, nodes[at])
	}
	return out, nil
}

// TestStatementsUnderRules runs random statements through the transports of a server as a caller under rules: the answers are those of a graph
// without what is hidden. HOPGATE_SEEDS and HOPGATE_FIRST_SEED are as for TestStatements.
func TestStatementsUnderRules(t *testing.T) {
	seeds, first := 40, 0
	if testing.Short() {
		seeds = 6
	}
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_SEEDS")); err == nil {
		seeds = n
	}
	if n, err := strconv.Atoi(os.Getenv("HOPGATE_FIRST_SEED")); err == nil {
		first = n
	}
	judged := 0
	for seed := first; seed < first+seeds; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			e := newGuarded(t, setting{shards: 1 + seed%3})
			var doors map[string]runner
			for _, c := range casesOf(uint64(seed)) {
				want, ok := c.right()
				if c.seen == nil || !ok {
					continue
				}
				if doors == nil {
					require.NoError(t, c.prepare(e))
					require.NoError(t, e.rule(false))
					doors = e.through(t)
				}
				for name, door := range doors {
					judged++
					got := ""
					if a, err := door.run(c.text, nil); err != nil {
						got = "error " + describe(err)
					} else {
						got = c.answerOf(a.columns, a.rows)
					}
					if !c.matches(got, want) {
						t.Errorf("%s: %s\n%s\nwant\n%s\ngot\n%s", name, c.setup, c.text, want, got)
					}
				}
			}
		})
	}
	require.Positive(t, judged)
	t.Logf("%d answers", judged)
}
