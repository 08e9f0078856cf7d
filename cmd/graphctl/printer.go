package main

import (
	"bufio"
	"encoding/base64"
	"encoding/csv"
	"io"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	pb "github.com/hopgate/hopgate/api/gen/hopgate/v1"
	"github.com/hopgate/hopgate/internal/answer"
	"github.com/hopgate/hopgate/internal/cli"
	"github.com/hopgate/hopgate/internal/server/arrowstream"
)

// tableRows is the number of rows that determine the widths of a table; later rows are fitted to those.
const tableRows = 1000

// printer writes rows in one of the output forms.
type printer struct {
	form   string
	w      *bufio.Writer
	arrow  *arrowstream.Writer // for arrow and parquet, once the fields are known
	csv    *csv.Writer
	fields []string
	keys   []string // fields as JSON
	table  [][]string
	widths []int
	each   func(cells []*pb.Value) error // takes the rows instead, or is nil
	count  int
	more   string // how to see further rows, or "" if there are none
	color  bool   // tables have styles
	timing bool   // tables end with the time since start
	start  time.Time
}

func newPrinter(form string, w io.Writer) (*printer, error) {
	switch form {
	case "table", "json", "ndjson", "csv":
		b := bufio.NewWriterSize(w, 64<<10)
		return &printer{form: form, w: b, csv: csv.NewWriter(b), start: time.Now(), color: colored(w)}, nil
	}
	return nil, cli.Usagef("--output %s: must be table, json, ndjson or csv", form)
}

// newRowPrinter is newPrinter for commands that also support Arrow and Parquet.
func newRowPrinter(form string, w io.Writer) (*printer, error) {
	if !binary(form) {
		p, err := newPrinter(form, w)
		if err != nil {
			err = cli.Usagef("--output %s: must be table, json, ndjson, csv, arrow or parquet", form)
		}
		return p, err
	}
	if cli.IsTerminal(w) {
		return nil, cli.Usagef("--output %s: is binary; redirect it to a file or a pipe", form)
	}
	return &printer{form: form, w: bufio.NewWriterSize(w, 64<<10), start: time.Now()}, nil
}

// eachRow has f take the rows instead of printing them.
func eachRow(f func(cells []*pb.Value) error) *printer {
	return &printer{each: f, w: bufio.NewWriter(io.Discard)}
}

func (p *printer) begin(fields []string) {
	p.fields = fields
	for _, f := range fields {
		p.keys = append(p.keys, string(answer.AppendText(nil, f)))
	}
	switch p.form {
	case "json":
		_ = p.w.WriteByte('[')
	case "csv":
		if len(fields) > 0 {
			_ = p.csv.Write(fields)
		}
	case "arrow", "parquet":
		if len(fields) > 0 {
			p.arrow = newArrow(p.form, fields, p.w)
		}
	}
}

func (p *printer) rows(b *pb.RowBatch) error {
	if p.arrow != nil {
		return p.arrowRows(b)
	}
	cells := make([]*pb.Value, len(b.GetColumns()))
	for i := range int(b.GetRows()) {
		for j, c := range b.GetColumns() {
			cells[j] = answer.Cell(c, i)
		}
		if err := p.row(cells); err != nil {
			return err
		}
	}
	switch p.form {
	case "ndjson":
		return p.w.Flush()
	case "csv":
		if p.csv.Flush(); p.csv.Error() != nil {
			return p.csv.Error()
		}
		return p.w.Flush()
	}
	return nil
}

func (p *printer) row(cells []*pb.Value) error {
	p.count++
	if p.each != nil {
		return p.each(cells)
	}
	switch p.form {
	case "json", "ndjson":
		var line []byte
		if p.form == "json" && p.count > 1 {
			line = append(line, ',', '\n')
		}
		line = append(line, '{')
		for i, c := range cells {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(append(line, p.keys[i]...), ':')
			line = answer.AppendJSON(line, c)
		}
		line = append(line, '}')
		if p.form == "ndjson" {
			line = append(line, '\n')
		}
		_, err := p.w.Write(line)
		return err
	case "csv":
		return p.csv.Write(texts(cells))
	}
	row := shortTexts(cells)
	if p.widths != nil {
		return p.tableLine(row, plain)
	}
	p.table = append(p.table, row)
	if len(p.table) == tableRows {
		return p.flushTable()
	}
	return nil
}

// texts returns cells in the form that CSV uses.
func texts(cells []*pb.Value) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		switch k := c.GetKind().(type) {
		case nil:
		case *pb.Value_String_:
			out[i] = k.String_
		case *pb.Value_Temporal:
			out[i] = k.Temporal.GetText()
		case *pb.Value_Point:
			out[i] = answer.PointText(k.Point)
		case *pb.Value_Bytes:
			out[i] = base64.StdEncoding.EncodeToString(k.Bytes)
		case *pb.Value_Float:
			out[i] = strings.Trim(string(answer.AppendJSON(nil, c)), `"`) // JSON has NaN and the infinities as strings
		default:
			out[i] = string(answer.AppendJSON(nil, c))
		}
	}
	return out
}

func (p *printer) end() error {
	switch p.form {
	case "arrow", "parquet":
		if p.arrow != nil {
			if err := p.arrow.Close(); err != nil {
				return err
			}
		}
	case "json":
		if _, err := p.w.WriteString("]\n"); err != nil {
			return err
		}
	case "csv":
		p.csv.Flush()
		if err := p.csv.Error(); err != nil {
			return err
		}
	case "table":
		if len(p.fields) > 0 {
			if p.widths == nil {
				if err := p.flushTable(); err != nil {
					return err
				}
			}
			_, _ = p.w.WriteString(p.styled(dim, "("+p.foot()+")") + "\n")
		}
	}
	return p.w.Flush()
}

func (p *printer) flushTable() error {
	p.widths = make([]int, len(p.fields))
	for i, f := range p.fields {
		p.widths[i] = runewidth.StringWidth(visible(f))
		for _, row := range p.table {
			p.widths[i] = max(p.widths[i], runewidth.StringWidth(row[i]))
		}
	}
	if err := p.tableLine(p.fields, bold); err != nil {
		return err
	}
	rule := make([]string, len(p.fields))
	for i := range rule {
		rule[i] = strings.Repeat("-", p.widths[i])
	}
	if err := p.tableLine(rule, dim); err != nil {
		return err
	}
	for _, row := range p.table {
		if err := p.tableLine(row, plain); err != nil {
			return err
		}
	}
	p.table = nil
	return nil
}

// styled returns text in a style if the table has styles.
func (p *printer) styled(s style, text string) string {
	if s == plain || !p.color {
		return text
	}
	return s.always(text)
}

func (p *printer) tableLine(row []string, s style) error {
	for i, c := range row {
		if i > 0 {
			_, _ = p.w.WriteString("  ")
		}
		c = visible(c)
		_, _ = p.w.WriteString(p.styled(s, c))
		if i < len(row)-1 {
			_, _ = p.w.WriteString(strings.Repeat(" ", max(0, p.widths[i]-runewidth.StringWidth(c))))
		}
	}
	return p.w.WriteByte('\n')
}
