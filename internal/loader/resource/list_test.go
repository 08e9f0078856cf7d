package resource

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestList(t *testing.T) {
	for list, cases := range map[string]map[string]bool{
		"": {"https://data.example.com/a.csv": false, "s3://bucket/a.csv": false},
		"https://data.example.com/csv/": {
			"https://data.example.com/csv/a.csv":        true,
			"https://Data.Example.com.:443/csv/a.csv":   true,
			"https://data.example.com/csv":              false,
			"https://data.example.com/other.csv":        false,
			"https://data.example.com/csv/../a.csv":     false,
			"https://data.example.com/csv/%2e%2e/a":     false,
			"https://data.example.com/csv/..%2fa":       false,
			`https://data.example.com/csv/..%5ca`:       false,
			"https://data.example.com.evil.org/csv/a":   false,
			"https://data.example.com@evil.org/csv/a":   false,
			"https://data.example.com:8443/csv/a.csv":   false,
			"http://data.example.com/csv/a.csv":         false,
			"http://data.example.com:443/csv/a.csv":     false,
			"https://evil.org/https://data.example.com": false,
		},
		"https://data.example.com": {"https://data.example.com/a.csv": true, "https://data.example.com.evil.org/": false},
		// A prefix ends where a segment does.
		"https://a.org/csv": {"https://a.org/csv": true, "https://a.org/csv/a": true, "https://a.org/csv2/a": false},
		"a.org, b.org:8080": {
			"https://a.org/x": true, "http://a.org/x": true, "http://a.org:8080/x": false, "https://b.org:8080/": true, "http://b.org/": false,
		},
		"*.example.org,https://*": {
			"http://a.example.org/": true, "http://a.b.example.org/": true, "http://example.org/": false, "http://aexample.org/": false,
			"https://any.name/": true, "https://10.0.0.1/": false, "https://8.8.8.8/": false, "https://[::1]/": false,
		},
		"10.1.0.0/16,127.0.0.1,[fd00::1]": {
			"http://10.1.2.3:99/a": true, "http://10.2.2.3/a": false, "https://127.0.0.1/": true, "http://127.0.0.2/": false,
			"http://[::ffff:127.0.0.1]/": true, "http://[fd00::1]/": true, "http://[fd00::2]/": false, "s3://127.0.0.1/a": false,
		},
		"http://127.0.0.1:9000/files/": {"http://127.0.0.1:9000/files/a": true, "http://127.0.0.1:9000/a": false, "http://127.0.0.1:9001/files/a": false},
		"s3://bucket/people/":          {"s3://bucket/people/a.csv": true, "s3://bucket/a.csv": false, "s3://other/people/a.csv": false},
	} {
		l, err := ParseList(list)
		require.NoError(t, err, list)
		for name, want := range cases {
			u, err := url.Parse(name)
			require.NoError(t, err, name)
			_, ok := l.find(u)
			require.Equal(t, want, ok, "%s in %q", name, list)
		}
	}
}

func TestListFaults(t *testing.T) {
	for _, entry := range []string{
		"ftp://a/", "file:///tmp/", "https://", "https://u:p@a/", "https://a/?x=1", "https://a/#x", "a/b", ":8080", "a b", "https://a/../b", "%",
	} {
		_, err := ParseList("https://good.example.com/," + entry)
		require.ErrorContains(t, err, entry)
		require.NotContains(t, err.Error(), "good")
	}
}
