// Package trusted finds the trusted operation that a request calls, and lists and changes those of the graphs of an engine.
package trusted
