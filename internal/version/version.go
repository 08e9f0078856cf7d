// Package version tells which release a program is, and what it was built from.
package version

import (
	"runtime/debug"
	"sync"
)

// Number is the release that the tree is, or becomes. The chart has the same, and what a release consists of takes it from there.
const Number = "0.2.0"

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
