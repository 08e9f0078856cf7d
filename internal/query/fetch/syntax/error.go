package syntax

import (
	"errors"
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
)

// The codes of an answer.
const (
	CodeOK          = 200
	CodeMalformed   = 400 // encoding or JSON
	CodeNoRight     = 401
	CodeUnsupported = 403 // forbidden or unsupported
	CodeNotFound    = 404 // unknown label, property or method
	CodeArgument    = 406 // illegal argument
	CodeNotLoggedIn = 407
	CodeTimeout     = 408
	CodeConflict    = 409
	CodeCondition   = 412 // failed condition
	CodeBudget      = 413 // over a budget
	CodeCost        = 422 // expected to take more than it may
	CodeType        = 415
	CodeRange       = 416
	CodeNull        = 417
	CodeBusy        = 429 // too busy
	CodeInternal    = 500 // internal server error
	CodeUnavailable = 503 // nothing has changed; try again later
	CodeUnknown     = 504 // changes may have been made
)

// Error is the error of a request. Path names the key, from the root of the request, members joined by "/"; it is empty if no key is
// at fault.
type Error struct {
	Code int
	Path string
	Msg  string
	Err  error // the cause, or nil

	Unread bool // the request was not parsed, since it takes too much memory
}

// Error returns the message with the path in front.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return `"` + e.Path + `": ` + e.Msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Fail creates an error about a node.
func Fail(code int, n *Node, format string, args ...any) *Error {
	return &Error{Code: code, Path: n.Path(), Msg: fmt.Sprintf(format, args...)}
}

// Illegal is an illegal argument.
func Illegal(n *Node, format string, args ...any) *Error {
	return Fail(CodeArgument, n, format, args...)
}

// Unsupported is a part of the protocol that does not exist.
func Unsupported(n *Node, format string, args ...any) *Error {
	return Fail(CodeUnsupported, n, format, args...)
}

// NotFound is a name that the graph does not know.
func NotFound(n *Node, format string, args ...any) *Error {
	return Fail(CodeNotFound, n, format, args...)
}

// AsError returns the *Error in a chain, or converts any other error of a request.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	g := graph.AsError(err)
	return &Error{Code: codeOf(g), Msg: g.Error(), Err: err}
}

// codeOf maps an error of the layers below.
func codeOf(g *graph.Error) int {
	switch g.Kind {
	case graph.KindInvalid:
		if g.Type == "TypeError" {
			return CodeType
		}
		return CodeArgument
	case graph.KindNotFound:
		return CodeNotFound
	case graph.KindExists, graph.KindConflict:
		return CodeConflict
	case graph.KindBudget:
		return CodeBudget
	case graph.KindCost:
		return CodeCost
	case graph.KindDeadline:
		return CodeTimeout
	case graph.KindUnavailable:
		return CodeUnavailable
	case graph.KindBusy:
		return CodeBusy
	case graph.KindDenied:
		return CodeNoRight
	case graph.KindUnknown:
		return CodeUnknown
	case graph.KindUnauthenticated:
		return CodeNotLoggedIn
	}
	return CodeInternal
}
