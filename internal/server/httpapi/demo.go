package httpapi

import (
	"net/http"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/loader/social"
	"github.com/hopgate/hopgate/internal/server/wire"
)

const (
	usualPersons = 500
	mostPersons  = 100_000
)

// demo answers with a file of the example network, in the form that loads read.
func (h *Handler) demo(w http.ResponseWriter, r *http.Request) {
	persons, err := number(r, "persons", usualPersons, 2, mostPersons)
	if err != nil {
		wire.Fail(w, err)
		return
	}
	name := r.PathValue("file")
	if !social.Has(name) {
		wire.Fail(w, graph.RequestError(graph.KindNotFound, "NoSuchRoute", "the example network has no file %s", name))
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	if err := social.WriteFile(r.Context(), w, name, social.Options{Persons: int(persons)}); err != nil {
		panic(http.ErrAbortHandler) // the client must not mistake a part for the whole
	}
}
