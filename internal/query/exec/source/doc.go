// Package source produces the first vertices and edges of a plan: scans, seeks and stored counts.
package source
