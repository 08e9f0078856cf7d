//go:build !linux || race

package cache

func adviseHuge([]byte) {}

func adviseSmall([]byte) {}
