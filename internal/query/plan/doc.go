// Package plan is the logical plan of a request: nodes, expressions, rewrite rules, cost and printed form.
package plan
