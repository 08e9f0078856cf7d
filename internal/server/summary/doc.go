// Package summary writes the summaries and plans of results in the forms of the transports.
package summary
