package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToken(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, `^token: hop_\w+\ntokens:\n  - \{name: "ann", sha256: [0-9a-f]{64}, role: reader\}\n$`},
		{[]string{"--custom-role", "analyst", "--custom-role", "auditor"}, `[0-9a-f]{64}, roles: \["analyst","auditor"\]\}`},
		{[]string{"--role", "writer", "--custom-role", "analyst", "--claim", "tenant=acme", "--claim", "regions=[1, \"a\"]"}, `, role: writer, roles: \["analyst"\], claims: \{"regions":\[1,"a"\],"tenant":"acme"\}\}`},
		{[]string{"--role", "cook"}, `^--role: must be operations, fetcher, reader, writer or admin, is "cook"$`},
		{[]string{"--custom-role", "writer"}, `^the custom role "writer": writer is a built-in role`},
		{[]string{"--claim", "tenant"}, `^--claim tenant: must be name=value$`},
		{[]string{"--claim", `a={"b":1}`}, `^--claim a: must be a boolean`},
		{[]string{"--claim", "a=1", "--claim", "a=2"}, `^--claim a: is given twice$`},
	} {
		cmd := newToken()
		var out strings.Builder
		cmd.SetOut(&out)
		cmd.SetArgs(append([]string{"ann"}, c.args...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		text := ""
		if err := cmd.Execute(); err != nil {
			text = err.Error()
		} else {
			text = out.String()
		}
		require.Regexp(t, c.want, text)
	}
}
