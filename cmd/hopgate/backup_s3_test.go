package main_test

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// objectStore speaks what of S3's protocol a backup needs: whole objects are put, read and listed under /bucket/key.
type objectStore struct {
	mu      sync.Mutex
	objects map[string][]byte
	puts    []string
}

type listedObject struct {
	Key, LastModified, ETag string
	Size                    int
}

func (s *objectStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodPut && !q.Has("partNumber"):
		body, err := io.ReadAll(objectBody(r))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.objects[key] = body
		s.puts = append(s.puts, key)
	case r.Method == http.MethodGet && q.Has("list-type"):
		var res struct {
			XMLName     xml.Name `xml:"ListBucketResult"`
			IsTruncated bool
			Contents    []listedObject
		}
		for k, b := range s.objects {
			if strings.HasPrefix(k, q.Get("prefix")) {
				res.Contents = append(res.Contents, listedObject{k, "2020-01-01T00:00:00.000Z", `"x"`, len(b)})
			}
		}
		slices.SortFunc(res.Contents, func(a, b listedObject) int { return strings.Compare(a.Key, b.Key) })
		w.Header().Set("Content-Type", "application/xml")
		_ = xml.NewEncoder(w).Encode(res)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		b, ok := s.objects[key]
		if !ok {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		_, _ = w.Write(b)
	default:
		http.Error(w, r.Method+" "+r.URL.String(), http.StatusNotImplemented)
	}
}

// objectBody takes the frames of aws-chunked off a body.
func objectBody(r *http.Request) io.Reader {
	if r.Header.Get("X-Amz-Decoded-Content-Length") == "" {
		return r.Body
	}
	in, out := bufio.NewReader(r.Body), &bytes.Buffer{}
	for {
		head, err := in.ReadString('\n')
		if err != nil {
			return brokenBody{err}
		}
		size, _, _ := strings.Cut(strings.TrimSpace(head), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if err != nil {
			return brokenBody{err}
		}
		if n == 0 {
			return out
		}
		if _, err := io.CopyN(out, in, n); err != nil {
			return brokenBody{err}
		}
		if _, err := in.Discard(2); err != nil {
			return brokenBody{err}
		}
	}
}

type brokenBody struct{ err error }

func (e brokenBody) Read([]byte) (int, error) { return 0, e.err }

// A backup to an object store can be restored; the next one uploads only new files, and a changed byte is refused.
func TestBackupS3(t *testing.T) {
	store := &objectStore{objects: map[string][]byte{}}
	web := httptest.NewServer(store)
	defer web.Close()
	dest := "s3://bucket/some/folder?region=us-east-1&use_path_style=true&endpoint=" + web.URL
	s := start(t, filepath.Join(t.TempDir(), "data"), "--shards", "2")
	env := []string{"GRAPHCTL_ADDRESS=" + s.addrs.GRPC, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_EC2_METADATA_DISABLED=true"}
	graphctl := func(code int, args ...string) string {
		o := run(t, env, "graphctl", args...)
		require.Equal(t, code, o.code, "%q: %s%s", args, o.out, o.err)
		return o.out + o.err
	}
	s.graphctl("query", "CREATE LABEL Session OPTIONS {ttl: 'P9D'}")
	s.graphctl("query", "CREATE CONSTRAINT FOR (n:N) REQUIRE n.i IS UNIQUE")
	s.graphctl("query", "UNWIND range(1, 9000) AS i CREATE (:N {i: i})")
	s.graphctl("query", "MATCH (a:N), (b:N {i: a.i + 4096}) CREATE (a)-[:E]->(b)")
	graphctl(0, "backup", dest)
	first := len(store.taken())
	require.Greater(t, first, 1)
	s.graphctl("query", "CREATE (:Session {i: 1})")
	var files, fresh int
	out := graphctl(0, "backup", dest)
	_, err := fmt.Sscanf(out[strings.Index(out, "graph, ")+len("graph, "):], "%d files", &files)
	require.NoError(t, err, out)
	_, err = fmt.Sscanf(out[strings.Index(out, "; new: ")+len("; new: "):], "%d files", &fresh)
	require.NoError(t, err, out)
	require.Equal(t, fresh+1, len(store.taken())-first, "the new files and the manifest")
	require.Less(t, fresh, files)
	puts := store.taken()
	slices.Sort(puts)
	require.Len(t, slices.Compact(slices.Clone(puts)), len(puts), "something has travelled twice")
	require.Zero(t, s.stop(syscall.SIGTERM))

	graphctl(0, "backup", "--verify", dest)
	back := filepath.Join(t.TempDir(), "back")
	graphctl(0, "restore", dest, "--data-dir", back)
	s = start(t, back)
	require.Equal(t, "n\n4904\n", s.graphctl("query", "-o", "csv", "MATCH (:N)-[e:E]->(:N) RETURN count(e) AS n"))
	require.Contains(t, s.graphctl("query", "SHOW LABELS"), "PT216H")
	require.Contains(t, s.graphctl("check"), "nothing is wrong")
	require.Zero(t, s.stop(syscall.SIGTERM))

	store.damage()
	require.Contains(t, graphctl(1, "backup", "--verify", dest, "--backup", backupID(store)), "its checksum is wrong")
}

// taken returns the keys of all uploads.
func (s *objectStore) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.puts)
}

// damage changes a byte of each file.
func (s *objectStore) damage() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, b := range s.objects {
		if strings.Contains(key, "/files/") && len(b) > 100 {
			b[50] ^= 1
		}
	}
}

// backupID is the newest backup's.
func backupID(s *objectStore) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.objects {
		if name, ok := strings.CutPrefix(key, "some/folder/backups/"); ok {
			id = max(id, strings.TrimSuffix(name, ".json"))
		}
	}
	return id
}
