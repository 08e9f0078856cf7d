package page

import (
	"errors"
	"slices"
	"strings"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/changes"
	"github.com/hopgate/hopgate/internal/query/token"
)

// The details of errors, which are stable codes. A page whose commit the log has no more fails as a read of the past does.
const (
	// SizeInvalid says that a number of rows is out of range.
	SizeInvalid = "PageSizeInvalid"
	// ReadOnly says that the request is none that only reads.
	ReadOnly = "PageIsReadOnly"
	// InTransaction says that the request is part of an explicit transaction, which has its snapshot.
	InTransaction = "PageInTransaction"
	// NeedsOrder says that a statement has no ORDER BY at its end.
	NeedsOrder = "PageNeedsOrder"
	// OrderNotTotal says that rows may be equal in all keys of ORDER BY.
	OrderNotTotal = "PageOrderNotTotal"
	// NotRepeatable says that the answer depends on more than the graph, such as the time.
	NotRepeatable = "PageNotRepeatable"
	// NeedsArray says that a fetch has not exactly one array to cut, or one whose rows cannot be told apart.
	NeedsArray = "PageNeedsArray"
	// KeyUnsupported says that a key of ORDER BY is of a type that no token holds.
	KeyUnsupported = "PageKeyUnsupported"
	// KeyTooLarge says that the keys of a row are too large for a token.
	KeyTooLarge = "PageKeyTooLarge"
	// NeedsLog says that the graph keeps no commit log, so that no later page could be read.
	NeedsLog = "PageNeedsLog"
	// Malformed says that a text is no token of a page, or was changed.
	Malformed = "PageTokenMalformed"
	// OtherGraph says that another graph has made the token.
	OtherGraph = "PageTokenOfOtherGraph"
	// OtherRequest says that the token is of another statement or fetch, or of other parameters.
	OtherRequest = "PageTokenOfOtherRequest"
)

const again = "; begin again without a page token"

func refuse(detail, format string, args ...any) error {
	return graph.RuntimeError("ArgumentError", detail, format, args...)
}

func tokenError(err error) error {
	if errors.Is(err, token.ErrOtherGraph) {
		return refuse(OtherGraph, "the page token is of another graph, or of one of this name that has been dropped"+again)
	}
	return refuse(Malformed, "the page token is not one that this server has made, or was changed"+again)
}

// Failed adds to an error of a page that cannot be read, because the graph of its commit is not known any more, how to begin again.
func (p *Page) Failed(err error) error {
	if p == nil || p.Token == "" || err == nil {
		return err
	}
	e, ok := errors.AsType[*graph.Error](err)
	if !ok || !slices.Contains([]string{"ChangeLogTooOld", changes.Off, changes.OtherHistory, "ChangeLogAhead", "ChangeLogGap", "PastTooLarge"}, e.Detail) {
		return err
	}
	c := *e
	c.Msg = "the next page is of an earlier commit: " + strings.TrimSuffix(c.Msg, "; begin again with a snapshot") + again
	return &c
}

// RefuseTyped returns the error of a page of a traversal; nil without a page.
func (p *Page) RefuseTyped() error {
	if p == nil {
		return nil
	}
	return refuse(NeedsOrder, "a traversal has no pages: the order of its rows is not total")
}

// RefuseWrite returns the error of a page of a fetch that writes.
func (p *Page) RefuseWrite() error {
	return refuse(ReadOnly, "only a fetch that reads has pages")
}

// Refuse returns the error of a page within an explicit transaction; nil without a page.
func (p *Page) Refuse() error {
	if p == nil {
		return nil
	}
	return refuse(InTransaction, "a statement of a transaction has no pages: its rows are read from one snapshot")
}
