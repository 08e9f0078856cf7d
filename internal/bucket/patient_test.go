package bucket

import (
	"context"
	"io"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

// silent is a body that sends a byte after each pause, and nothing after the last one.
type silent struct {
	ctx    context.Context
	pauses []time.Duration
}

func (s *silent) Read(p []byte) (int, error) {
	if len(s.pauses) == 0 {
		<-s.ctx.Done()
		return 0, s.ctx.Err()
	}
	time.Sleep(s.pauses[0])
	s.pauses = s.pauses[1:]
	return copy(p, "x"), nil
}

func (s *silent) Close() error { return nil }

// A body may arrive slowly and be read slowly. Only a server that sends nothing while the reader waits is abandoned.
func TestPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, err := Patient(t.Context(), func(ctx context.Context) (io.ReadCloser, error) {
			time.Sleep(silence - time.Second)
			return &silent{ctx, []time.Duration{silence - time.Second, silence - time.Second}}, nil
		})
		require.NoError(t, err)
		time.Sleep(3 * silence)
		buf := make([]byte, 1)
		for range 2 {
			_, err = io.ReadFull(body, buf)
			require.NoError(t, err)
			time.Sleep(3 * silence)
		}
		_, err = body.Read(buf)
		require.ErrorIs(t, err, errSilent)
		require.NoError(t, body.Close())

		_, err = Patient(t.Context(), func(ctx context.Context) (io.ReadCloser, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		require.ErrorIs(t, err, errSilent)

		ctx, cancel := context.WithCancel(t.Context())
		body, err = Patient(ctx, func(ctx context.Context) (io.ReadCloser, error) { return &silent{ctx: ctx}, nil })
		require.NoError(t, err)
		time.AfterFunc(time.Second, cancel)
		_, err = body.Read(buf)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, body.Close())
	})
}

// hung is a store that never answers.
type hung struct{ driver.Bucket }

func (hung) OpenBucketURL(context.Context, *url.URL) (*blob.Bucket, error) {
	return blob.NewBucket(hung{}), nil
}

func (hung) Attributes(ctx context.Context, _ string) (*driver.Attributes, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hung) ListPaged(ctx context.Context, _ *driver.ListOptions) (*driver.ListPage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hung) NewRangeReader(ctx context.Context, _ string, _, _ int64, _ *driver.ReaderOptions) (driver.Reader, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hung) ErrorCode(error) (code gcerrors.ErrorCode) { return gcerrors.Unknown }
func (hung) Close() error                              { return nil }

// A store that never answers is given up, whatever it is asked.
func TestSilentStore(t *testing.T) {
	blob.DefaultURLMux().RegisterBucket("hungtest", hung{})
	ask := map[string]func(ctx context.Context) error{
		"stat": func(ctx context.Context) error { _, err := Stat(ctx, "hungtest://b/a.csv"); return err },
		"list": func(ctx context.Context) error { _, err := List(ctx, "hungtest://b/"); return err },
		"read": func(ctx context.Context) error { _, err := Read(ctx, "hungtest://b/a.csv", 0); return err },
	}
	for name, f := range ask {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.ErrorIs(t, f(t.Context()), errSilent)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				began := time.Now()
				require.Error(t, f(ctx))
				require.Equal(t, time.Second, time.Since(began))
			})
		})
	}
}
