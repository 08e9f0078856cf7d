package bucket

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
)

// short is a store whose only object has fewer bytes than its size, and which does not describe it.
type short struct{ hung }

const shortText = "0123456789"

func (short) OpenBucketURL(context.Context, *url.URL) (*blob.Bucket, error) {
	return blob.NewBucket(short{}), nil
}

func (short) Attributes(context.Context, string) (*driver.Attributes, error) {
	return nil, errors.New("forbidden")
}

func (short) NewRangeReader(_ context.Context, _ string, offset, _ int64, _ *driver.ReaderOptions) (driver.Reader, error) {
	return shortReader{strings.NewReader(shortText[offset:])}, nil
}

type shortReader struct{ *strings.Reader }

func (shortReader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{Size: int64(len(shortText)) + 1, ModTime: time.Unix(1, 0)}
}
func (shortReader) As(any) bool  { return false }
func (shortReader) Close() error { return nil }

// An object whose body ends before its size is an error, from any offset; its size is that of the body's header if the store does not describe it.
func TestShortObject(t *testing.T) {
	blob.DefaultURLMux().RegisterBucket("shorttest", short{})
	o, err := Stat(t.Context(), "shorttest://b/a.csv")
	require.NoError(t, err)
	require.Equal(t, Object{Size: 11, Time: time.Unix(1, 0)}, o)
	for _, offset := range []int64{0, 4, 10} {
		r, err := Read(t.Context(), "shorttest://b/a.csv", offset)
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, shortText[offset:], string(text))
		require.NoError(t, r.Close())
	}
}
