package propose

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// spellings are ways to name a column that refers to a table.
var spellings = []func(table string) string{
	func(t string) string { return t + "_id" },
	func(t string) string { return strings.ToUpper(t[:1]) + t[1:] + "ID" },
	func(t string) string { return t + "Id" },
	func(t string) string { return t + "id" },
	func(t string) string { return t },
	func(t string) string { return "fk_" + t },
	func(t string) string { return "ID_" + strings.ToUpper(t) },
	func(t string) string { return "main_" + t + "_id" },
}

// TestRandomTables proposes mappings for random related tables: all references that they were made with become edges, and nothing else
// does.
func TestRandomTables(t *testing.T) {
	names := []string{"customer", "product", "city", "invoice", "branch", "box"}
	plurals := []string{"customers", "products", "cities", "invoices", "branches", "boxes"}
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		keys := make([][]string, len(names))
		for i := range keys {
			first := rng.IntN(3) * 1000
			for k := range 5 + rng.IntN(20) {
				key := strconv.Itoa(first + k)
				if i%2 == 0 {
					key = fmt.Sprintf("%c%c%d", 'A'+rng.IntN(26), 'A'+i, k)
				}
				keys[i] = append(keys[i], key)
			}
		}
		var want []string
		write := func(file string, columns []string, row func() []string, rows int) {
			text := strings.Join(columns, ",") + "\n"
			for range rows {
				text += strings.Join(row(), ",") + "\n"
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, file+".csv"), []byte(text), 0o600))
		}
		pick := func(i int) string { return keys[i][rng.IntN(len(keys[i]))] }
		for i, name := range names {
			file := name
			if rng.IntN(2) == 0 {
				file = plurals[i]
			}
			columns, refs := []string{[]string{"id", name + "_id", strings.ToUpper(name[:1]) + name[1:] + "ID"}[rng.IntN(3)], "title", "price"}, []int(nil)
			for to := range names {
				if to != i && rng.IntN(3) == 0 {
					refs = append(refs, to)
					columns = append(columns, spellings[rng.IntN(len(spellings))](names[to]))
					want = append(want, "to: {column: "+columns[len(columns)-1]+", idSpace: "+names[to])
				}
			}
			at := 0
			write(file, columns, func() []string {
				cells := []string{keys[i][at], fmt.Sprint("t", rng.IntN(3)), fmt.Sprintf("%d.5", rng.IntN(9))}
				for _, to := range refs {
					cells = append(cells, pick(to))
				}
				at++
				return cells
			}, len(keys[i]))
		}
		from, to := rng.IntN(3), 3+rng.IntN(3)
		write("link", []string{names[from] + "_id", names[to] + "_id", "quantity"},
			func() []string { return []string{pick(from), pick(to), strconv.Itoa(rng.IntN(9))} }, 60)
		want = append(want, "to: {column: "+names[to]+"_id, idSpace: "+names[to])
		text, err := Propose(t.Context(), []string{dir}, filepath.Base)
		require.NoError(t, err, "seed %d\n%s", seed, text)
		var got []string
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "to: ") {
				column, space, _ := strings.Cut(strings.TrimSuffix(line, "}"), "idSpace: ")
				i := slices.IndexFunc(names, func(n string) bool {
					return strings.EqualFold(space, n) || slices.Index(plurals, strings.ToLower(space)) == slices.Index(names, n)
				})
				require.GreaterOrEqual(t, i, 0, "seed %d: %s", seed, line)
				got = append(got, column+"idSpace: "+names[i])
			}
		}
		require.ElementsMatch(t, want, got, "seed %d\n%s", seed, text)
		require.Contains(t, string(text), "- type: LINK\n")
	}
}
