// Package query prepares and runs requests: text in, batches out, with a plan cache, limits and a list of running requests.
package query
