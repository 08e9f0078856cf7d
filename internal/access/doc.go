// Package access identifies callers and decides what they may do: tokens, roles, certificates, web pages, the audit log.
package access
