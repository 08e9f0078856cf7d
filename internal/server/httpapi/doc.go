// Package httpapi serves the HTTP API: statements, transactions, traversals and fetches in JSON.
package httpapi
