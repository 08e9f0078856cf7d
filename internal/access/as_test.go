package access

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An admin of a graph asks in the place of another caller in that graph alone, as long as it is an admin; nobody else does.
func TestAs(t *testing.T) {
	const claims = `{"sub": "ann", "roles": ["writer", "g:nurse", "h:admin"], "ward": "a"}`
	for _, id := range []*Identity{{Name: "w", Every: Writer}, {Name: "a", Graph: map[string]Role{"h": Admin}}, {Name: "c", Roles: []string{"admin"}}} {
		_, err := As(WithIdentity(t.Context(), id), "g", claims)
		require.ErrorContains(t, err, id.Name+" lacks the role admin")
	}
	admin := &Identity{Name: "root", Graph: map[string]Role{"g": Admin}}
	ctx, err := As(WithIdentity(t.Context(), admin), "g", claims)
	require.NoError(t, err)
	id := Caller(ctx)
	require.Equal(t, "ann", id.Name)
	require.Equal(t, Writer, id.In("g"))
	require.Equal(t, None, id.In("h"))
	require.Equal(t, []string{"nurse"}, id.RolesIn("g"))
	require.Empty(t, id.RolesIn("h"))
	require.Equal(t, "a", id.Claims["ward"].Str())
	require.NoError(t, Check(ctx, "g", Writer))
	require.Error(t, Check(ctx, "g", Admin))
	require.Error(t, CheckEvery(ctx, Reader))

	admin.Expires = time.Now().Add(-time.Second)
	require.ErrorContains(t, Check(ctx, "g", Reader), "the token's time is over")
	require.Equal(t, None, Caller(ctx).In("g"))

	ctx, err = As(t.Context(), "g", `{"roles": ["reader"]}`)
	require.NoError(t, err, "without authentication everyone is an admin")
	require.Error(t, Check(ctx, "g", Writer))
	for _, bad := range []string{"", "[]", "{", `{"x": 1} {}`} {
		_, err := As(t.Context(), "g", bad)
		require.ErrorContains(t, err, "as_claims: must be a JSON object", bad)
	}
}
