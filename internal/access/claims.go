package access

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/rules"
)

// The claims of one token are at most mostClaims, and their names and values together at most mostClaimBytes as JSON.
const (
	mostClaims     = 64
	mostClaimBytes = 16 << 10
)

// claimsOf returns the claims of a JSON Web Token that rules can compare: booleans, numbers, strings and lists of them. Others have no
// meaning here and are left out.
func claimsOf(all map[string]json.RawMessage) (map[string]graph.Value, error) {
	out := map[string]graph.Value{}
	size := 0
	for name, text := range all {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var x any
		if err := d.Decode(&x); err != nil {
			return nil, err
		}
		v, err := rules.ValueOf(x)
		if err != nil {
			continue
		}
		out[name] = v
		size += len(name) + len(text)
	}
	return out, tooMany(len(out), size)
}

// tooMany returns an error for claims beyond the bounds.
func tooMany(n, size int) error {
	if n > mostClaims || size > mostClaimBytes {
		return fmt.Errorf("it has %d claims in %d bytes; at most %d in %d are allowed", n, size, mostClaims, mostClaimBytes)
	}
	return nil
}
