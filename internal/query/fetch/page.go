package fetch

import (
	"maps"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/graph/notation"
	"github.com/hopgate/hopgate/internal/query/fetch/bind"
	"github.com/hopgate/hopgate/internal/query/fetch/syntax"
	"github.com/hopgate/hopgate/internal/query/plan"
)

// Pager cuts the one array of an answer to a page. Package page implements it.
type Pager interface {
	// Key distinguishes its plans from others.
	Key() string
	// Fetch makes the plan of the array that of the page, before it is optimized. With whole, the array has no count or page of its own.
	Fetch(q *plan.Query, indexes []graph.Index, whole bool) error
	// Params returns the parameters of that plan, by the names of its columns, beside the request's.
	Params(names []string) (map[string]graph.Value, error)
	// Take returns the rows of a batch that are of the page; nil for none.
	Take(names []string, b *graph.Batch) (*graph.Batch, error)
	// Next returns the token of the next page once all rows have been taken; "" if there is none.
	Next() string
}

// Paged is a Runner whose client asks for a page.
type Paged interface {
	// Page returns the page, or nil.
	Page() Pager
}

// bindPage binds a request, for a page if pg is not nil.
func bindPage(r *syntax.Request, cat graph.Catalog, pg Pager) (*bind.Program, error) {
	p, err := bind.Request(r, cat)
	if err != nil || pg == nil {
		return p, err
	}
	a, err := onlyArray(p.Members)
	if err != nil {
		return nil, err
	}
	return p, pg.Fetch(a.Query.Q, cat.Indexes(), a.Whole)
}

// onlyArray returns the array of an answer that has pages.
func onlyArray(members []*bind.Output) (*bind.Output, error) {
	var found []*bind.Output
	var find func([]*bind.Output)
	find = func(members []*bind.Output) {
		for _, m := range members {
			if m.Kind == bind.OutArray {
				found = append(found, m)
			}
			find(m.Members)
		}
	}
	find(members)
	if len(found) != 1 || found[0].Query == nil {
		return nil, graph.RuntimeError("ArgumentError", "PageNeedsArray", "pages are those of the items of one array, such as \"User[]\", and the request has %d", len(found))
	}
	return found[0], nil
}

// paginate prepares the run of a page.
func (x *run) paginate(prog *bind.Program) error {
	a, err := onlyArray(prog.Members)
	if err != nil {
		return err
	}
	x.paged = a.Query
	params, err := x.page.Params(a.Query.Q.Names)
	maps.Copy(x.params, params)
	return err
}

// nextPage adds the token of the next page to the answer, if there is one.
func (x *run) nextPage(dst []byte) []byte {
	if x.page == nil {
		return dst
	}
	next := x.page.Next()
	if next == "" {
		return dst
	}
	return append(notation.AppendJSONString(append(dst, `"nextPageToken":`...), next), ',')
}
