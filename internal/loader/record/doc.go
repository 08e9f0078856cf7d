// Package record splits input text into records and records into cells.
package record
