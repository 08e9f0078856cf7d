package loader

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"

	"github.com/hopgate/hopgate/internal/loader/mapping"
	"github.com/hopgate/hopgate/internal/loader/propose"
)

// dirStore opens a directory as a bucket.
type dirStore string

func (s dirStore) OpenBucketURL(context.Context, *url.URL) (*blob.Bucket, error) {
	return fileblob.OpenBucket(string(s), &fileblob.Options{Metadata: fileblob.MetadataDontWrite})
}

// memStore opens buckets in memory that all hold the same object.
type memStore struct{ key, text string }

func (s memStore) OpenBucketURL(ctx context.Context, _ *url.URL) (*blob.Bucket, error) {
	b := memblob.OpenBucket(nil)
	return b, b.WriteAll(ctx, s.key, []byte(s.text), nil)
}

// dirs is what dirtest:// opens: a scheme cannot be registered twice.
var dirs dirStore

func register(scheme string, store blob.BucketURLOpener) {
	if m := blob.DefaultURLMux(); !m.ValidBucketScheme(scheme) {
		m.RegisterBucket(scheme, store)
	}
}

// Objects of a store and file:// URLs are read like files: single, by folder or by pattern, and from an offset.
func TestObjects(t *testing.T) {
	var b strings.Builder
	fmt.Fprintln(&b, "id,name")
	for i := range 2000 {
		fmt.Fprintf(&b, "%d,n%d\n", i, i)
	}
	body := b.String()
	dirs = dirStore(t.TempDir())
	bucket, err := dirs.OpenBucketURL(t.Context(), nil)
	require.NoError(t, err)
	for key, text := range map[string]string{"in/a 1.csv": body, "in/note.md": "x", "more/b.csv": "id,name\n7,x\n"} {
		require.NoError(t, bucket.WriteAll(t.Context(), key, []byte(text), nil))
	}
	require.NoError(t, bucket.Close())
	register("dirtest", &dirs)
	register("memtest", memStore{"m.csv", body})
	text := `
version: 1
inputs:
  - path: "%s"
    vertices: [{label: A, id: id, properties: {id: {type: int}, name: {}}}]
`
	w := newWorld(t)
	file := w.file("a.csv", body)
	want := ""
	for _, path := range []string{"file://" + file, "dirtest://b/in/a%201.csv?token=secret", "dirtest://b/in/", "dirtest://b/*/a*.csv"} {
		w := newWorld(t)
		p, err := w.plan(fmt.Sprintf(text, path))
		require.NoError(t, err, path)
		require.Len(t, p.inputs, 1, path)
		require.NotContains(t, p.inputs[0].Name, "secret")
		require.EqualValues(t, len(body), p.Bytes())
		stream := p.Stream
		require.NotEmpty(t, stream)
		p.chunk = 1000
		_, err = p.Run(t.Context(), &cut{NewLocal(w.l), 3, 3}, Options{Workers: 1})
		require.Error(t, err)
		p, err = w.plan(fmt.Sprintf(text, path))
		require.NoError(t, err)
		require.Equal(t, stream, p.Stream)
		p.chunk = 1000
		_, err = p.Run(t.Context(), NewLocal(w.l), Options{})
		require.NoError(t, err)
		if want == "" {
			want = w.state()
		}
		require.Equal(t, want, w.state(), path)
		for _, offset := range []int{0, 500, len(body)} {
			from, err := p.inputs[0].Open(t.Context(), int64(offset))
			require.NoError(t, err)
			rest, err := io.ReadAll(from)
			require.NoError(t, err)
			require.Equal(t, body[offset:], string(rest))
			require.NoError(t, from.Close())
		}
	}
	for _, path := range []string{"dirtest://b/none.csv?token=secret", "dirtest://b/none/?token=secret", "file://host/a.csv"} {
		_, err := newWorld(t).plan(fmt.Sprintf(text, path))
		require.Error(t, err, path)
		require.NotContains(t, err.Error(), "secret")
	}
	proposed, err := propose.Propose(t.Context(), []string{"dirtest://b/in/"}, func(name string) string { return name })
	require.NoError(t, err)
	_, err = mapping.Parse("m.yaml", proposed)
	require.NoError(t, err, string(proposed))
	require.Contains(t, string(proposed), "- path: \"dirtest://b/in/a%201.csv\"")
	require.NotContains(t, string(proposed), "note")
	register("memhead", memStore{"P.csv", "id:ID(P),:LABEL\na,P\n"})
	p, err := NewHeaderPlan(t.Context(), HeaderOptions{Paths: []string{"memhead://b/P.csv"}})
	require.NoError(t, err)
	rep, err := p.Run(t.Context(), NewLocal(newWorld(t).l), Options{})
	require.NoError(t, err)
	require.EqualValues(t, 1, rep.Vertices)
	mem := newWorld(t)
	_, err = mem.load(fmt.Sprintf(text, "memtest://b/m.csv"), Options{})
	require.NoError(t, err)
	require.Equal(t, want, mem.state())
}
