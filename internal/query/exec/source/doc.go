// Package source gives the first vertices and edges of a plan: scans, seeks and counts that the store keeps.
package source
