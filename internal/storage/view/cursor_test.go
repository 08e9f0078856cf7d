package view

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/storage/kv"
)

// layers is a cursor over stored records under an overlay.
type layers struct {
	db     *pebble.DB
	it     *pebble.Iterator
	cursor *Cursor
}

func newLayers(t *testing.T, stored map[string]string, lower, upper string) *layers {
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem(), Logger: kv.Quiet{}})
	require.NoError(t, err)
	for k, v := range stored {
		require.NoError(t, db.Set([]byte(k), []byte(v), nil))
	}
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte(lower), UpperBound: []byte(upper)})
	require.NoError(t, err)
	return &layers{db, it, &Cursor{it: it, over: &Overlay{}, lower: []byte(lower), upper: []byte(upper)}}
}

func (l *layers) close(t *testing.T) {
	require.NoError(t, l.it.Close())
	require.NoError(t, l.db.Close())
}

// at is the record at the cursor, or "end".
func (l *layers) at(ok bool) string {
	if !ok {
		if err := l.cursor.Err(); err != nil {
			return err.Error()
		}
		return "end"
	}
	v, err := l.cursor.Value()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s=%s", l.cursor.Key(), v)
}

func TestCursor(t *testing.T) {
	datadriven.Walk(t, "testdata/cursor", func(t *testing.T, path string) {
		var l *layers
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			if d.Cmd == "stored" {
				if l != nil {
					l.close(t)
				}
				stored := map[string]string{}
				for r := range strings.FieldsSeq(d.Input) {
					k, v, _ := strings.Cut(r, "=")
					stored[k] = v
				}
				l = newLayers(t, stored, "b", "y")
				return ""
			}
			for line := range strings.Lines(d.Input) {
				w := append(strings.Fields(line), "", "")
				switch w[0] {
				case "set":
					l.cursor.over.Set([]byte(w[1]), []byte(w[2]))
				case "delete":
					l.cursor.over.Delete([]byte(w[1]))
				case "seek":
					fmt.Fprintf(&out, "%s %s: %s\n", w[0], w[1], l.at(l.cursor.Seek([]byte(w[1]))))
				case "next":
					fmt.Fprintf(&out, "next: %s\n", l.at(l.cursor.Next()))
				case "before":
					fmt.Fprintf(&out, "%s %s: %s\n", w[0], w[1], l.at(l.cursor.SeekLT([]byte(w[1]))))
				case "prev":
					fmt.Fprintf(&out, "prev: %s\n", l.at(l.cursor.prev()))
				default:
					t.Fatalf("unknown command %s", w[0])
				}
			}
			return out.String()
		})
		l.close(t)
	})
}

// TestCursorModel walks at random over stored records under an overlay that grows, and compares each step with a map.
func TestCursorModel(t *testing.T) {
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		key := func() string { return fmt.Sprintf("%c%c", 'a'+rnd.IntN(6), 'a'+rnd.IntN(6)) }
		all := map[string]string{}
		for range rnd.IntN(20) {
			all[key()] = "stored"
		}
		lower, upper := "b", "f"
		if seed%2 > 0 {
			lower, upper = "c", "d"
		}
		l := newLayers(t, all, lower, upper)
		l.cursor.one = seed%2 > 0
		in := func(k string) bool { return k >= lower && k < upper }
		check := func(what string, ok bool, want string, some bool) {
			t.Helper()
			if some {
				want += "=" + all[want]
			} else {
				want = "end"
			}
			require.Equal(t, want, l.at(ok), "seed %d, %s", seed, what)
		}
		for range 400 {
			keys := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(k string) bool { return !in(k) })
			k := key()
			i, _ := slices.BinarySearch(keys, k)
			switch rnd.IntN(5) {
			case 0:
				all[k] = strconv.Itoa(rnd.IntN(100))
				l.cursor.over.Set([]byte(k), []byte(all[k]))
			case 1:
				delete(all, k)
				l.cursor.over.Delete([]byte(k))
			case 2, 3:
				ok := l.cursor.Seek([]byte(k))
				for n := rnd.IntN(4); ; n-- {
					if check("seek "+k, ok, at(keys, i), i < len(keys)); n == 0 || !ok {
						break
					}
					ok = l.cursor.Next()
					i++
				}
			case 4:
				k = min(k, upper)
				i, _ = slices.BinarySearch(keys, k)
				ok := l.cursor.SeekLT([]byte(k))
				for n := rnd.IntN(4); ; n-- {
					i--
					if check("before "+k, ok, at(keys, i), i >= 0); n == 0 || !ok {
						break
					}
					ok = l.cursor.prev()
				}
			}
		}
		l.close(t)
	}
}

func at(keys []string, i int) string {
	if i < 0 || i >= len(keys) {
		return ""
	}
	return keys[i]
}
