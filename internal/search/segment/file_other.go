//go:build !unix

package segment

import "os"

func load(path string) (data []byte, release func() error, err error) {
	data, err = os.ReadFile(path)
	return data, nil, err
}

// SyncDir does nothing: directories cannot be synced here.
func SyncDir(string) error { return nil }
