// Package rules runs LDBC's reads under access rules, in turns with the same reads without rules over the same visible data.
package rules
