package page

import (
	"context"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/changelog"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/asof"
	"github.com/hopgate/hopgate/internal/query/snapshot"
	"github.com/hopgate/hopgate/internal/query/token"
	"github.com/hopgate/hopgate/internal/shard"
	"github.com/hopgate/hopgate/internal/shard/restricted"
)

// MaxSize is the greatest number of rows of a page.
const MaxSize = 100_000

// defaultSize is the number of rows of a page whose request has a token and no number.
const defaultSize = 1_000

// Page is one page of the answer to a request, and the state of the run that finds it. Only one goroutine at a time may use it.
type Page struct {
	Size  int    // rows
	Token string // of the page before; "": the first page

	from   position // of the token
	now    position // of the last row so far
	rows   int      // of the page at most
	room   int      // rows that may still come
	next   string   // the token of the next page
	tokens *snapshot.Tokens
	g      shard.Graph
	name   string
	ctx    context.Context
	out    graph.Batch
}

// New returns the page that a request asks for in two fields, nil if it asks for none.
func New(sizeField string, size int64, token string) (*Page, error) {
	switch {
	case size == 0 && token == "":
		return nil, nil
	case size < 0 || size > MaxSize:
		return nil, refuse(SizeInvalid, "%s: must be a whole number from 1 to %d, was %d", sizeField, MaxSize, size)
	case size == 0:
		size = defaultSize
	}
	return &Page{Size: int(size), Token: token}, nil
}

// Key distinguishes the plans of a first and of a later page from each other and from those without pages, for caches; "" without a page. No
// statement begins with it.
func (p *Page) Key() string {
	switch {
	case p == nil:
		return ""
	case p.Token == "":
		return "\x00page 1\x00"
	}
	return "\x00page 2\x00"
}

// Names of parameters, which no request can have.
const (
	own       = "\x00"
	sizeParam = own + "size"
	keyParam  = own + "key "
	limitCol  = own + "limit"
)

// IsParam reports whether a parameter of a plan is one that a Page sets.
func IsParam(name string) bool { return strings.HasPrefix(name, own) }

func keyName(i int) string { return keyParam + strconv.Itoa(i) }

func keysOf(names []string) (n int) {
	for _, name := range names {
		if strings.HasPrefix(name, keyParam) {
			n++
		}
	}
	return n
}

// Columns returns the columns of an answer without those that only the page reads.
func (p *Page) Columns(names []string) []string {
	if p == nil {
		return names
	}
	for i, n := range names {
		if IsParam(n) {
			return names[:i:i]
		}
	}
	return names
}

// Begin starts a run of the page of a request to a graph, for at most some rows (0: no limit), and returns the context to read it in.
func (p *Page) Begin(
	ctx context.Context, tokens *snapshot.Tokens, g shard.Graph, name string, r Request, most int64,
) (context.Context, error) {
	log := restricted.Whole(g).ChangeLog()
	if log == nil {
		return nil, needsLog(name)
	}
	st, err := log.LogState(ctx)
	if err != nil {
		return nil, err
	}
	if st.Mode == changelog.Off {
		return nil, needsLog(name)
	}
	r.At = asof.Text(ctx)
	*p = Page{Size: p.Size, Token: p.Token, tokens: tokens, g: g, name: name, ctx: ctx}
	if p.rows = p.Size; most > 0 {
		p.rows = int(min(most, int64(p.rows)))
	}
	p.room = p.rows
	p.now.request, p.now.left = r.hash(), -1
	if p.Token != "" {
		moment := ""
		ok, err := tokens.Sign(ctx, g, name, func(s *token.Signer) (err error) {
			if p.from, err = read(s, p.Token); err != nil {
				return tokenError(err)
			}
			moment = s.Text(token.Token{Commit: p.from.at.Commit, Time: p.from.at.Time})
			return nil
		})
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, needsLog(name)
		case p.from.request != p.now.request:
			return nil, refuse(OtherRequest, "the page token is of another request: all but the size of the page must be as for the first one"+again)
		}
		if ctx, err = asof.With(ctx, "pageToken", moment); err != nil {
			return nil, err
		}
		p.now.left = p.from.left
	}
	return ctx, nil
}

// Params returns the parameters of the plan of the page whose columns have names, beside those of the request.
func (p *Page) Params(names []string) (map[string]graph.Value, error) {
	if n := keysOf(names); p.Token != "" && n != len(p.from.keys) { // a constraint was created or dropped
		return nil, refuse(OtherRequest, "the order of the rows has other keys than when the page token was made"+again)
	}
	size := int64(p.room) + 1
	if p.now.left >= 0 {
		size = min(size, p.now.left)
	}
	params := map[string]graph.Value{sizeParam: graph.IntValue(size)}
	for i, v := range p.from.keys {
		params[keyName(i)] = v
	}
	return params, nil
}

func needsLog(name string) error {
	return refuse(NeedsLog, "the graph %s keeps no commit log, which the pages after the first are read by: start the server with --log-retention, and set the graph's txLogEnrichment to DIFF", name)
}

// Reads tells the transaction that the page is read in.
func (p *Page) Reads(tx shard.Tx) error {
	if p == nil {
		return nil
	}
	if tx.Features().Commits == nil {
		return needsLog(p.name)
	}
	p.now.at = snapshot.Of(tx)
	return nil
}

// Take returns the rows of a batch that are of the page, without the columns that only the page reads, nil if there are none. It is valid until
// the next call.
func (p *Page) Take(names []string, b *graph.Batch) (*graph.Batch, error) {
	if p == nil || b == nil {
		return b, nil
	}
	visible := len(p.Columns(names))
	n := min(b.N, p.room)
	if n > 0 {
		p.now.keys = p.now.keys[:0]
		for i := visible; i < len(b.Cols); i++ {
			v := graph.Detach(b.Cols[i].Value(n - 1))
			if names[i] != limitCol {
				p.now.keys = append(p.now.keys, v)
			} else if limit, ok := v.Whole(); ok {
				p.now.left = limit
			}
		}
	}
	if p.room -= n; b.N > n && p.next == "" {
		if err := p.sign(); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, nil
	}
	p.out.N, p.out.Cols = n, b.Cols[:visible]
	return &p.out, nil
}

// sign makes the token of the next page.
func (p *Page) sign() error {
	at := p.now
	if at.left >= 0 {
		if at.left -= int64(p.rows); at.left <= 0 {
			return nil
		}
	}
	_, err := p.tokens.Sign(p.ctx, p.g, p.name, func(s *token.Signer) (err error) {
		p.next, err = at.text(s)
		return err
	})
	return err
}

// Next returns the token of the next page once the last row has been taken; "" if there is none.
func (p *Page) Next() string {
	if p == nil {
		return ""
	}
	return p.next
}
