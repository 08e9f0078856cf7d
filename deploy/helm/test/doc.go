// Package charttest renders the chart hopgate over a matrix of values and holds every object against the schemas of
// Kubernetes and against the policies that the chart promises. It is a module of its own, so that the server's stays lean.
package charttest
