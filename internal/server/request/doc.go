// Package request does what all transports do with a request: it watches it, bounds what large ones hold, and names it.
package request
