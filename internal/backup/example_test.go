package backup_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/hopgate/hopgate/internal/backup"
)

// Store a backup of one file, and verify it. A second backup of equal content stores nothing but its manifest.
func ExampleRepo() {
	const text = "content"
	sum := sha256.Sum256([]byte(text))
	file := backup.File{Path: "graphs/default/GRAPH", Size: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
	ctx := context.Background()
	r := backup.OpenBucket(memblob.OpenBucket(nil))
	defer r.Close()
	for i := range 2 {
		taken := time.Unix(int64(i), 0)
		m := &backup.Manifest{ID: backup.NewID(taken), Taken: taken, Graphs: []string{"default"}, Files: []backup.File{file}}
		missing, err := r.Missing(ctx, m.Files)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, at := range missing {
			err = r.Put(ctx, m.Files[at], func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
			if err != nil {
				fmt.Println(err)
				return
			}
		}
		fmt.Println(len(missing), "missing", r.Commit(ctx, m))
	}
	newest, err := r.Manifest(ctx, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(newest.ID, r.Verify(ctx, newest, nil))
	// Output:
	// 1 missing <nil>
	// 0 missing <nil>
	// 19700101T000001-000 <nil>
}
