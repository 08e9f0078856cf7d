//go:build !linux && !race

package cache

func adviseHuge([]byte) {}
