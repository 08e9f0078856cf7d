package query

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/changes"
)

// bookmarkPrefix is the prefix of this server's bookmarks.
const bookmarkPrefix = "hg1:"

// numbers count the states of graphs that commits have left, commands included, which no log counts.
type numbers struct{ last atomic.Uint64 }

// next returns the number of a state with all acknowledged commits. changed says that a commit has changed something, which advances it.
func (n *numbers) next(changed bool) uint64 {
	for {
		last := n.last.Load()
		if last > 0 && !changed {
			return last
		}
		next := max(last+1, uint64(time.Now().UnixMicro()))
		if n.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// Bookmark names the state of a graph after a commit, which may have changed nothing, by a number and the token of its snapshot, if it has one.
func Bookmark(e *Engine, graphName string, changed bool, token string) string {
	b := make([]byte, 0, len(bookmarkPrefix)+len(graphName)+len(token)+22) // with 20 digits, a colon and a dash
	b = append(append(append(b, bookmarkPrefix...), graphName...), ':')
	b = strconv.AppendUint(b, e.numbers.next(changed), 10)
	if token != "" {
		b = append(append(b, '-'), token...)
	}
	return string(b)
}

// ReachedBookmark checks that the graph of a bookmark has the bookmark's snapshot. A transaction sees all writes acknowledged before it began, so it
// waits for none.
func ReachedBookmark(ctx context.Context, e *Engine, b string) error {
	name, token, ok := parseBookmark(b)
	switch {
	case !ok:
		return graph.InvalidBookmark(b)
	case token == "":
		return nil
	}
	err := e.Reached(ctx, name, token)
	if err == nil {
		return nil
	}
	switch failed := graph.AsError(err); {
	case failed.Kind == graph.KindNotFound, failed.Detail == changes.OtherGraph:
		return nil // the graph has been dropped, or made again: nothing of it is left to see
	case failed.Kind == graph.KindUnavailable:
		return err
	}
	return graph.InvalidBookmark(b)
}

// parseBookmark returns the graph that a bookmark names, and the token of its snapshot, "" if it has none. ok is false for any other text.
func parseBookmark(b string) (name, token string, ok bool) {
	rest, ok := strings.CutPrefix(b, bookmarkPrefix)
	at := strings.LastIndexByte(rest, ':')
	if !ok || at < 1 {
		return "", "", false
	}
	number, token, signed := strings.Cut(rest[at+1:], "-")
	_, err := strconv.ParseUint(number, 10, 64)
	return rest[:at], token, err == nil && signed == (token != "")
}

// BookmarkToken returns the token of the snapshot that a bookmark names; ok is false for one without a token, and for any other text.
func BookmarkToken(b string) (token string, ok bool) {
	_, token, ok = parseBookmark(b)
	return token, ok && token != ""
}
