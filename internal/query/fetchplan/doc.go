// Package fetchplan keeps the programs of JSON-array fetches and their compiled plans by graph.
package fetchplan
