// Package record cuts input text into records and records into cells.
package record
