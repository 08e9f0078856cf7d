package admin

import (
	"net/http"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/server/wire"
)

// guard restricts a handler of the admin listener to admins of all graphs or, without tokens, to permitted web pages.
func guard(auth *access.Authenticator, web *access.Web, next http.Handler) http.Handler {
	if auth == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := web.Check(r); err != nil {
				wire.Fail(w, err)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := auth.Authenticate(r.Context(), r.Header.Get("Authorization"))
		if err != nil {
			wire.Refuse(w, err, wire.Fail)
			return
		}
		if err := access.CheckEvery(ctx, access.Admin); err != nil {
			wire.Fail(w, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
