package columns

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// PrintOptions describe which rows to print, and in which form. The inputs, the output and the resources are
// those of Options.
type PrintOptions struct {
	Options
	Form    string   // a name in TextForms; "": table
	Columns []string // the columns to print, in this order; nil: all
	NoNames bool     // no line with the names of the columns
	First   int64    // the first row to print
	End     int64    // the row after the last one to print; negative: to the end
	Tail    int64    // print only the last rows; 0: see First
}

// TextForms returns the names of the forms of Print.
func TextForms() []string { return []string{"table", "csv", "tsv", "jsonl"} }

// Print prints rows as text. Nulls are empty in tables and CSV, and null in JSON.
func Print(ctx context.Context, opt PrintOptions) (err error) {
	if err := checkForm(opt.Form); err != nil {
		return err
	}
	t, m, err := opt.open()
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.checkTarget(opt.Options, false); err != nil {
		return err
	}
	used, err := t.chosenColumns(opt.Columns)
	if err != nil {
		return err
	}
	if err := t.setLayout(used, nil, false); err != nil {
		return fmt.Errorf("%w (choose others with PrintOptions.Columns)", err)
	}
	if err := m.checkColumns(t.layout); err != nil {
		return fmt.Errorf("%w, or choose fewer columns with PrintOptions.Columns", err)
	}
	s, err := sampleInputs(t.inputs, t.layout)
	if err != nil {
		return err
	}
	t.layout.arrange(s)
	if opt.Tail > 0 {
		if t.rows() < 0 {
			return fmt.Errorf("%s: the number of rows of Arrow data is not known: print the first ones", t.label())
		}
		opt.First = max(t.rows()-opt.Tail, 0)
		opt.End = -1
	}
	if opt.End < 0 {
		opt.End = math.MaxInt64
	}
	target, err := newTarget(ctx, opt.Options)
	if err != nil {
		return err
	}
	err = t.print(ctx, opt, m, target)
	if err == nil {
		err = target.Commit(ctx)
	}
	if err != nil {
		return errors.Join(err, target.Abort())
	}
	return nil
}

// checkForm rejects forms that do not exist for tables.
func checkForm(form string) error {
	if form == "" || slices.Contains(TextForms(), form) {
		return nil
	}
	return fmt.Errorf("PrintOptions.Form %s is not for Parquet and Arrow files: use %s", form,
		strings.Join(TextForms(), ", "))
}

// chosenColumns returns the columns with the given names, or all.
func (t *table) chosenColumns(names []string) ([]*column, error) {
	all := t.inputs[0].columns()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []*column
	for _, name := range names {
		c, err := columnNamed(all, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.label(), err)
		}
		if slices.Contains(chosen, c) {
			return nil, fmt.Errorf("column %s is named twice", name)
		}
		chosen = append(chosen, c)
	}
	return chosen, nil
}

// print prints the rows.
func (t *table) print(ctx context.Context, opt PrintOptions, m budget, w io.Writer) error {
	p := newRowPrinter(t.layout, opt, w)
	row := int64(0)
	if opt.First < opt.End {
		err := t.eachRow(ctx, m, func(record []byte) error {
			row++
			switch {
			case row <= opt.First:
				return nil
			case row > opt.End:
				return errEnough
			}
			return p.print(record)
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	if err := p.close(); err != nil {
		return err
	}
	return t.checkUnchanged()
}

// A rowPrinter writes rows as text.
type rowPrinter struct {
	columns []printedColumn
	names   []string // nil: they have been written, or are not wanted
	texts   []string
	scratch []byte
	lines   lineWriter
}

// A printedColumn is a column with the way to its values.
type printedColumn struct {
	*column
	valueText
	place valuePlace
}

// A lineWriter writes the texts of a row. Texts that are not bare and nulls only matter to JSON.
type lineWriter interface {
	Write(texts []string) error
	Flush()
	Error() error
}

func newRowPrinter(l *layout, opt PrintOptions, w io.Writer) *rowPrinter {
	p := &rowPrinter{}
	var names []string
	for _, c := range l.columns {
		p.columns = append(p.columns, printedColumn{c, c.valueText(), l.placeOf(c)})
		names = append(names, c.name)
	}
	p.texts = make([]string, len(p.columns))
	if !opt.NoNames && opt.Form != "jsonl" {
		p.names = names
	}
	switch opt.Form {
	case "csv", "tsv":
		lines := csv.NewWriter(w)
		if opt.Form == "tsv" {
			lines.Comma = '\t'
		}
		p.lines = lines
	case "jsonl":
		p.lines = newJSONLines(w, names)
	default:
		p.lines = &tableLines{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	}
	return p
}

// print prints a row.
func (p *rowPrinter) print(row []byte) error {
	if err := p.printNames(); err != nil {
		return err
	}
	for i := range p.columns {
		p.texts[i] = p.text(&p.columns[i], row)
	}
	return p.lines.Write(p.texts)
}

func (p *rowPrinter) printNames() error {
	names := p.names
	p.names = nil
	if names == nil {
		return nil
	}
	return p.lines.Write(names)
}

// text returns the text of a value. In JSON, it is a complete value.
func (p *rowPrinter) text(c *printedColumn, row []byte) string {
	_, isJSON := p.lines.(*jsonLines)
	switch {
	case c.isNull(row) && isJSON:
		return "null"
	case c.isNull(row):
		return ""
	}
	var value []byte
	if c.isVariable {
		value, p.scratch = c.place.value(row, p.scratch[:0])
	} else {
		value = append(p.scratch[:0], row[c.offset:c.offset+c.width]...)
		p.scratch = value
		if c.flip {
			value[0] ^= 0x80
		}
	}
	text := c.text(value)
	if isJSON && (!c.isBare || strings.Contains(text, "N") || strings.Contains(text, "I")) { // NaN, Inf
		return jsonText(text)
	}
	return text
}

// isNull reports whether the value in a row is a null.
func (c *column) isNull(row []byte) bool {
	switch {
	case !c.isNullable():
		return false
	case c.levelMask == 0:
		return int16(row[c.levelPlace]) != c.maxLevel
	}
	return row[c.levelPlace]&c.levelMask == 0
}

// close completes the text.
func (p *rowPrinter) close() error {
	if err := p.printNames(); err != nil {
		return err
	}
	p.lines.Flush()
	return p.lines.Error()
}

// A tableLines aligns the columns of a block of rows.
type tableLines struct {
	w    *tabwriter.Writer
	rows int
	err  error
}

// alignedRows is the number of rows whose columns are aligned.
const alignedRows = 1000

func (t *tableLines) Write(texts []string) error {
	line := strings.Join(texts, "\t")
	if strings.ContainsAny(line, "\n\r\v\f") {
		line = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\v", `\v`, "\f", `\f`).Replace(line)
	}
	_, err := fmt.Fprintln(t.w, line)
	t.err = errors.Join(t.err, err)
	t.rows++
	if t.rows%alignedRows == 0 {
		t.Flush()
	}
	return t.err
}

func (t *tableLines) Flush() { t.err = errors.Join(t.err, t.w.Flush()) }

func (t *tableLines) Error() error { return t.err }

// A jsonLines writes an object for each row.
type jsonLines struct {
	w     *bufio.Writer
	names []string
	err   error
}

func newJSONLines(w io.Writer, names []string) *jsonLines {
	j := &jsonLines{w: bufio.NewWriter(w)}
	for _, name := range names {
		j.names = append(j.names, jsonText(name)+":")
	}
	return j
}

func (j *jsonLines) Write(texts []string) error {
	line := "{"
	for i, text := range texts {
		if i > 0 {
			line += ","
		}
		line += j.names[i] + text
	}
	_, err := j.w.WriteString(line + "}\n")
	return err
}

func (j *jsonLines) Flush() { j.err = j.w.Flush() }

func (j *jsonLines) Error() error { return j.err }

// jsonText returns a text as a JSON string. Bytes that are not UTF-8 are replaced.
func jsonText(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil { // cannot happen for strings
		return strconv.Quote(text)
	}
	return string(quoted)
}
