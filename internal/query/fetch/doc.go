// Package fetch binds a JSON-array fetch to a plan and writes rows back in the request's shape.
package fetch
