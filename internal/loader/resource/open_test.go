package resource

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

const people = "id,name\n1,José\n2,Zoë\n"

func zipped(t *testing.T, text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// stored are files as servers may have them, all with the same text.
func stored(t *testing.T) map[string]string {
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	utf16, err := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(people)
	require.NoError(t, err)
	latin1, err := charmap.ISO8859_1.NewEncoder().String(people)
	require.NoError(t, err)
	return map[string]string{
		"/plain.csv": people, "/mark.csv": "\ufeff" + people, "/utf16.csv": utf16, "/latin1.csv": latin1,
		"/people.csv.gz": zipped(t, people), "/gz-by-content": zipped(t, utf16), "/people.zst": string(z.EncodeAll([]byte(people), nil)),
	}
}

// serve serves the stored files, /empty, /cut.gz, and redirects /to?URL and /again?N.
func serve(t *testing.T) *httptest.Server {
	files := stored(t)
	files["/empty"], files["/cut.gz"] = "", zipped(t, people)[:20]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		switch text, ok := files[r.URL.Path]; {
		case ok:
			_, _ = io.WriteString(w, text)
		case r.URL.Path == "/to":
			http.Redirect(w, r, r.URL.RawQuery, http.StatusFound)
		case r.URL.Path == "/again" && r.URL.RawQuery != "":
			http.Redirect(w, r, "/again?"+r.URL.RawQuery[1:], http.StatusFound)
		case r.URL.Path == "/again":
			_, _ = io.WriteString(w, people)
		case r.URL.Path == "/wait":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func read(ctx context.Context, o *Opener, name string) (string, error) {
	r, _, err := o.Open(ctx, name)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	if err := r.Close(); err != nil {
		return "", err
	}
	return string(text), err
}

func opener(t *testing.T, dir, list string) *Opener {
	l, err := ParseList(list)
	require.NoError(t, err)
	return NewOpener(dir, l)
}

// Files and URLs are the same text in each compression and encoding.
func TestTexts(t *testing.T) {
	s, dir := serve(t), t.TempDir()
	o := opener(t, dir, s.URL)
	for name, content := range stored(t) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		for _, from := range []string{s.URL, "file://", ""} {
			text, err := read(t.Context(), o, from+name)
			require.NoError(t, err, from+name)
			require.Equal(t, people, text, from+name)
		}
	}
	text, err := read(t.Context(), o, s.URL+"/empty")
	require.NoError(t, err)
	require.Empty(t, text)
	_, err = read(t.Context(), o, s.URL+"/cut.gz")
	require.ErrorContains(t, err, "cut off")
}

func TestRefusals(t *testing.T) {
	s, dir := serve(t), t.TempDir()
	o := opener(t, dir, s.URL+",http://localhost:"+port(s)+",https://*.example.com/csv/,s3://bucket/people/?region=eu-west-1")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.csv"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "..", "secret.csv"), nil, 0o600))
	elsewhere := strings.Replace(s.URL, "127.0.0.1", "127.0.0.2", 1)
	for name, want := range map[string]string{
		s.URL + "/none?token=secret":                      "/none: the server answers 404 Not Found",
		elsewhere + "/plain.csv?token=secret":             "/plain.csv is not allowed by load-csv-sources",
		"http://u:secret@169.254.169.254/latest":          "http://169.254.169.254/latest is not allowed",
		"http://localhost:" + port(s) + "/plain.csv":      "the address 127.0.0.1:" + port(s) + " is not public",
		s.URL + "/to?" + elsewhere + "/plain.csv?secret":  "the redirect to " + elsewhere + "/plain.csv is not allowed",
		s.URL + "/to?file:///etc/passwd":                  "the redirect to file:///etc/passwd is not allowed",
		s.URL + "/again?123456":                           "more than 5 redirects",
		"https://www.example.com/other.csv":               "https://www.example.com/other.csv is not allowed",
		"s3://bucket/people/a.csv?endpoint=http://secret": "the options of an object store belong in load-csv-sources",
		"s3://bucket/b.csv":                               "is not allowed by load-csv-sources",
		"ftp://a/b.csv":                                   "is not allowed by load-csv-sources",
		"//host/b.csv":                                    "is not allowed by load-csv-sources",
		"file://host/b.csv":                               "a file has no host",
		"%zz?secret":                                      "no URL and no path",
		"none.csv":                                        "no such file",
		"pipe.csv":                                        "not a regular file",
		"../secret.csv":                                   "cannot open",
		"file:///../secret.csv":                           "cannot open",
	} {
		_, err := read(t.Context(), o, name)
		require.ErrorContains(t, err, want, name)
		require.NotContains(t, strings.ReplaceAll(err.Error(), "secret.csv", ""), "secret", name)
	}
	text, err := read(t.Context(), o, s.URL+"/again?12345")
	require.NoError(t, err)
	require.Equal(t, people, text)
	_, err = read(t.Context(), opener(t, "", ""), "a.csv")
	require.ErrorContains(t, err, "no import directory")
	// A network of the list holds what a name resolves to.
	text, err = read(t.Context(), opener(t, "", "localhost:"+port(s)+",127.0.0.0/8,::1"), "http://localhost:"+port(s)+"/plain.csv")
	require.NoError(t, err)
	require.Equal(t, people, text)
}

func port(s *httptest.Server) string {
	_, p, _ := net.SplitHostPort(s.Listener.Addr().String())
	return p
}

// The end of a request ends what it reads.
func TestCancel(t *testing.T) {
	s := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := read(ctx, opener(t, "", s.URL), s.URL+"/wait")
		done <- err
	}()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}
