package arrowstream

import (
	"errors"

	"github.com/hopgate/hopgate/internal/graph"
)

// Rows are the rows of an answer.
type Rows interface {
	// Next returns the next batch, or nil at the end.
	Next() (*graph.Batch, error)
	// Fail records why the rows cannot be sent.
	Fail(error) error
}

// ErrGone is the error of a sink whose client does not read its answer.
var ErrGone = errors.New("the client is gone")

// Copy writes all rows and ends the stream.
func (w *Writer) Copy(rows Rows) error {
	for {
		b, err := rows.Next()
		switch {
		case err != nil:
			return err
		case b == nil:
			err = w.Close()
		default:
			err = w.Append(b)
		}
		if err != nil && !errors.Is(err, ErrGone) {
			return rows.Fail(err)
		}
		if b == nil || err != nil {
			return err
		}
	}
}
