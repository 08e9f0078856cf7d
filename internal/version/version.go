// Package version tells which release a program is, and what it was built from.
package version

import (
	"runtime/debug"
	"sync"
)

// Number is the release that the tree is, or becomes. The chart has the same, and what a release consists of takes it from there.
const Number = "0.2.0"

// Cluster is the newest cluster version that the program knows: that of what the processes of a cluster send each other and keep in their logs.
// It is one higher than the last release's if that would not understand something. Programs of two adjacent versions run together, at
// the lower one: what is new waits until cluster.Process.Version says that all processes know it.
//
//	1  0.1.0
//	2  the members of group 0 carry the cluster version
const Cluster = 2

// Commit returns the revision that the program was built from, if known.
var Commit = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return ""
})

// Build names the release and the revision, if known.
func Build() string {
	if commit := Commit(); commit != "" {
		return Number + " " + commit
	}
	return Number
}
