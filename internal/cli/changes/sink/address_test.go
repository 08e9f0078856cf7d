package sink

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/hopgate/hopgate/internal/cli"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]address{
		"kafka://a/t":                       {scheme: "kafka", hosts: []string{"a:9092"}, target: "t"},
		"kafka://a:1,b,[::1],[::2]:3/t.x":   {scheme: "kafka", hosts: []string{"a:1", "b:9092", "[::1]:9092", "[::2]:3"}, target: "t.x"},
		"nats://ann%40x@a/shop.changes?b=c": {scheme: "nats", user: "ann@x", hosts: []string{"a:4222"}, target: "shop.changes"},
	} {
		got, err := parseAddress(text)
		require.NoError(t, err, text)
		got.params = params{}
		require.Equal(t, want, got)
	}
	for text, want := range map[string]string{
		"changes":              `"changes": must begin with kafka:// or nats://`,
		"http://ann:pw@host/x": `"…@host/x": must begin with kafka:// or nats://`,
		"kafka://a:b@c/t":      "a password must not be on a command line: set GRAPHCTL_SINK_PASSWORD, or name a file by password.file",
		"kafka://%zz@c/t":      "the user: a % must begin an escape, such as %40",
		"kafka://a:x/t":        `"a:x" is no HOST:PORT`,
		"kafka://a,/t":         `":9092" is no HOST:PORT`,
		"kafka://a:0/t":        `"a:0" is no HOST:PORT`,
		"kafka://a":            "one topic must follow the hosts, as in kafka://a:9092/changes",
		"kafka://a/b/c":        "one topic must follow the hosts, as in kafka://a:9092/changes",
		"nats://a/?x=y":        "one subject must follow the hosts, as in nats://a:4222/changes",
		"nats://a/b?x=%zz":     "the parameters: must be NAME=VALUE, joined by &, with escapes such as %26",
	} {
		_, err := parseAddress(text)
		require.EqualError(t, err, want, text)
	}
}

// A wrong parameter is an error of the command line that names it, before anything is connected.
func TestParameters(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, c := range []struct{ to, wants string }{
		{"kafka://a/t?x=y", "x: there is no such parameter, but client.id, compression.type,"},
		{"kafka://a/t?compression.type=zip", `compression.type: must be one of none, gzip, snappy, lz4, zstd, was "zip"`},
		{"kafka://a/t?compression.type=gzip&compression.type=lz4", "compression.type: given more than once"},
		{"kafka://a/t?client.id=", "client.id: must not be empty"},
		{"kafka://a/t?transaction.timeout.ms=5", `transaction.timeout.ms: must be a number from 1000 to 86400000, was "5"`},
		{"kafka://a/t?security.protocol=SASL_SSL", "security.protocol SASL_SSL: needs sasl.mechanism, the user as in kafka://USER@a:9092, and a password"},
		{"kafka://ann@a/t", "a user needs security.protocol SASL_SSL or SASL_PLAINTEXT, not PLAINTEXT"},
		{"kafka://a/t?ssl.ca.location=" + empty, "holds no certificate"},
		{"kafka://a/t?password.file=none", "password.file: open none"},
		{"kafka://a/t?ssl.key.location=none", "ssl.certificate.location, ssl.key.location: open"},
		{"nats://a/t?tls=yes", `tls: must be one of true, false, was "yes"`},
		{"nats://a/t.*", "subject t.*: must be without * and >"},
		{"nats://a/t?nkey=none", "nkey: nats: open none"},
	} {
		_, err := Open(t.Context(), c.to, Options{})
		require.ErrorContains(t, err, "--to: ", c.to)
		require.ErrorContains(t, err, c.wants)
		require.Equal(t, cli.Usage, cli.ExitCode(err))
	}
}

// Errors of brokers have codes, and only those that Resume helps with are temporary.
func TestCodesOfKafka(t *testing.T) {
	k := &kafka{topic: "t", id: "hopgate-t"}
	for err, want := range map[error]Code{
		kerr.SaslAuthenticationFailed:           Denied,
		kerr.TopicAuthorizationFailed:           Denied,
		kerr.TransactionalIDAuthorizationFailed: Denied,
		kerr.ProducerFenced:                     Fenced,
		kerr.UnknownTopicOrPartition:            NotFound,
		kerr.InvalidTransactionTimeout:          Failed,
		kerr.InvalidRecord:                      Failed,
		kerr.CoordinatorNotAvailable:            Unreachable,
		kerr.InvalidProducerEpoch:               Unreachable,
		os.ErrDeadlineExceeded:                  Unreachable,
	} {
		err = k.classify(err)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, want, e.Code, err)
		require.Equal(t, want == Unreachable, Temporary(err))
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add("kafka://ann@a:1,[::1]/t?x=y")
	f.Add("nats://a/b.c")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAddress(text)
		if err == nil && (len(a.hosts) == 0 || a.target == "" || ports[a.scheme] == "") {
			t.Errorf("%q: %+v", text, a)
		}
	})
}
