// Package access says who calls and what they may do: tokens, roles, certificates, web pages, the audit log.
package access
