package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hopgate/hopgate/internal/config"
)

// The memory for memtables is divided by the shards that a process keeps.
func TestKeptShards(t *testing.T) {
	for _, c := range []struct {
		config.Config
		want int
	}{
		{config.Config{}, 1},
		{config.Config{Shards: 4}, 4},
		{config.Config{Shards: 3, Join: "a:1,b:1,c:1"}, 1},
		{config.Config{Shards: 16, Replicas: 3, Join: "a:1,b:1,c:1"}, 16},
		{config.Config{Shards: 16, Replicas: 3, Join: "a:1,b:1,c:1,d:1,e:1"}, 10},
	} {
		require.Equal(t, c.want, keptShards(&c.Config))
	}
}
