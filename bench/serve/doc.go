// Package serve measures requests through the HTTP listener.
package serve
