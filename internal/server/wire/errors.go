package wire

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
)

// transports is the one table that maps kinds of errors to status codes of the transports; for Bolt, boltapi refines single codes.
var transports = map[graph.Kind]struct {
	http int
	grpc codes.Code
	gql  string // the Bolt status of errors whose code is not more specific
}{
	graph.KindInternal:    {http.StatusInternalServerError, codes.Internal, "50N00"},
	graph.KindInvalid:     {http.StatusBadRequest, codes.InvalidArgument, "50N42"},
	graph.KindNotFound:    {http.StatusNotFound, codes.NotFound, "50N42"},
	graph.KindExists:      {http.StatusBadRequest, codes.AlreadyExists, "50N42"},
	graph.KindBudget:      {http.StatusRequestEntityTooLarge, codes.ResourceExhausted, "51N73"},
	graph.KindDeadline:    {http.StatusRequestTimeout, codes.DeadlineExceeded, "25N14"},
	graph.KindUnavailable: {http.StatusServiceUnavailable, codes.Unavailable, "08N09"},
	graph.KindCorrupt:     {http.StatusInternalServerError, codes.DataLoss, "50N00"},
	graph.KindConflict:    {http.StatusConflict, codes.Aborted, "50N05"},
	graph.KindDenied:      {http.StatusForbidden, codes.PermissionDenied, "42NFF"},

	graph.KindUnauthenticated: {http.StatusUnauthorized, codes.Unauthenticated, "42NFF"},
	graph.KindBusy:            {http.StatusTooManyRequests, codes.ResourceExhausted, "51N59"},
	graph.KindUnknown:         {http.StatusGatewayTimeout, codes.Unknown, "08007"},
	// Unlike an exhausted resource, which is there again later, the same request is refused again.
	graph.KindCost: {http.StatusUnprocessableEntity, codes.FailedPrecondition, "51N73"},
}

// retryAfter is the default delay before a retry, if the error does not specify one.
const retryAfter = time.Second

// laterBy returns the delay before a retry after an error, which may be nil.
func laterBy(err error) time.Duration {
	var e *graph.Error
	if errors.As(err, &e) && e.Retry > 0 {
		return e.Retry
	}
	return retryAfter
}

// HTTPStatus returns the HTTP status of an error.
func HTTPStatus(err error) int { return transports[graph.AsError(err).Kind].http }

// AppendError appends one entry of "errors".
func AppendError(dst []byte, err error) []byte {
	e := graph.AsError(err)
	c := classify(e)
	dst = append(dst, `{"code":`...)
	dst = notation.AppendJSONString(dst, c.code)
	dst = append(dst, `,"message":`...)
	dst = notation.AppendJSONString(dst, e.Error())
	dst = AppendPosition(dst, e.Pos)
	dst = append(dst, `,"type":`...)
	dst = notation.AppendJSONString(dst, c.typ)
	dst = append(dst, `,"phase":`...)
	dst = notation.AppendJSONString(dst, c.phase)
	dst = append(dst, `,"detail":`...)
	dst = notation.AppendJSONString(dst, c.detail)
	return append(dst, '}')
}

// class is an error's code and openCypher's classification.
type class struct{ code, typ, phase, detail string }

// classify returns the classification of an error and completes one that is only partly set.
func classify(e *graph.Error) class {
	c := class{e.Code, e.Type, e.Phase, e.Detail}
	if c.code == "" {
		c.code = "Neo.DatabaseError.General.UnknownError"
	}
	if c.typ == "" {
		c.typ = "Error"
	}
	if c.phase == "" {
		c.phase = "any"
	}
	if c.detail == "" {
		c.detail = c.typ
	}
	return c
}

// Classify returns the code and the detail of an error, and the GQL status of its kind.
func Classify(e *graph.Error) (code, detail, gql string) {
	c := classify(e)
	return c.code, c.detail, transports[e.Kind].gql
}

// RequestError is the error for a malformed request: bad JSON, a wrong field.
func RequestError(msg string) *graph.Error {
	return graph.RequestError(graph.KindInvalid, "InvalidRequest", "%s", msg)
}

// Staleness parses by how much the snapshot that a request reads may be out of date; field names it.
func Staleness(field, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, RequestError(field + ": must be a duration from 0, such as 500ms or 2s, was " + strconv.Quote(text))
	}
	return d, nil
}

// TooLarge is the error for a request over a size limit.
func TooLarge(msg string) *graph.Error {
	return graph.RequestError(graph.KindBudget, "TooLarge", "%s", msg)
}

// Draining is the error of a transaction that ends because the server stops.
func Draining() error {
	return graph.Unavailable("TransactionError", "Draining", "the server is about to stop; the transaction is rolled back", nil)
}

// Outcome returns the outcome of a request as the audit log names it.
func Outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return graph.AsError(err).Code
}

// maxTextSize bounds the size of a statement.
const maxTextSize = 16 << 20

// CheckStatement validates a statement before parsing.
func CheckStatement(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return graph.SyntaxError("UnexpectedSyntax", graph.Pos{Line: 1, Column: 1}, "Invalid input '': expected a statement")
	case len(text) > maxTextSize:
		return TooLarge(fmt.Sprintf("the statement is larger than %d bytes", maxTextSize))
	}
	return nil
}

// GRPCError converts a non-nil error to a gRPC status.
func GRPCError(err error) error {
	if _, ok := status.FromError(err); ok {
		return err // the transport's own error
	}
	e := graph.AsError(err)
	st, c := status.New(transports[e.Kind].grpc, strings.ToValidUTF8(e.Error(), "\ufffd")), classify(e)
	info := &errdetails.ErrorInfo{Domain: "hopgate", Reason: c.code, Metadata: map[string]string{
		"type": c.typ, "phase": c.phase, "detail": c.detail,
	}}
	if e.Pos.Line > 0 {
		info.Metadata["line"] = strconv.Itoa(e.Pos.Line)
		info.Metadata["column"] = strconv.Itoa(e.Pos.Column)
		info.Metadata["offset"] = strconv.Itoa(e.Pos.Offset)
	}
	if with, err := st.WithDetails(info); err == nil {
		st = with
	}
	if e.Kind == graph.KindBusy || e.Kind == graph.KindUnavailable {
		if with, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(laterBy(e))}); err == nil {
			st = with
		}
	}
	return st.Err()
}

// AppendPosition appends a position, if known.
func AppendPosition(dst []byte, pos graph.Pos) []byte {
	if pos.Line == 0 {
		return dst
	}
	dst = append(dst, `,"position":{"line":`...)
	dst = strconv.AppendInt(dst, int64(pos.Line), 10)
	dst = append(dst, `,"column":`...)
	dst = strconv.AppendInt(dst, int64(pos.Column), 10)
	dst = append(dst, `,"offset":`...)
	dst = strconv.AppendInt(dst, int64(pos.Offset), 10)
	return append(dst, '}')
}
