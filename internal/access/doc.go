// Package access says who calls and what they may do: tokens, roles, certificates, the audit log.
package access
