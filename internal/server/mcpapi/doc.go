// Package mcpapi serves graphs to agents by the Model Context Protocol (MCP): tools that read, write and search, and resources and prompts
// that explain the graph and the dialect.
//
//	POST /mcp ─┐                      ┌─ get-schema, sample ── schema.go
//	gRPC Mcp ──┴─ Handler ─ session ──┼─ read-cypher, write-cypher, explain ── statements.go
//	                                  ├─ hybrid-search ── search.go
//	                                  └─ each trusted operation ── operations.go
//	                                          │
//	                                   query.Engine ─ rows ─ answer.go cuts them to the budget of tokens
//
// The server keeps no session: each message is a request of its caller, with the rights of the caller's token, so that any gateway answers
// the next one. Read tools run in reading transactions, whatever their statement says.
package mcpapi
