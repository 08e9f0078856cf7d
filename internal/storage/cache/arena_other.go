//go:build unix && !linux && !race

package cache

func adviseHuge([]byte) {}
