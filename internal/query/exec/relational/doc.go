// Package relational combines rows: filters, projections, joins, subplans, aggregates, sorts, unions and calls.
package relational
