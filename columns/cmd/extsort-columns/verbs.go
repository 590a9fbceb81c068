package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/columns"
	"github.com/extsort/extsort/sets"
)

// errNo means that the answer is no: the input is not sorted, or nothing was found.
var errNo = errors.New("no")

// A noError is an errNo with a text.
type noError struct{ text string }

func (e noError) Error() string { return e.text }

func (e noError) Is(target error) bool { return target == errNo }

// A command is one run of the program.
type command struct {
	columns.Options
	flags  *pflag.FlagSet
	stats  string // "", text or json
	stdout io.Writer
	stderr io.Writer
}

// A verb has flags of its own, in addition to those of all verbs.
type verb struct {
	name  string
	parse func(c *command) (run func(ctx context.Context) error) // defines the flags
}

// verbTable lists the verbs. The first one is the default.
var verbTable = []verb{
	{"sort", sortVerb},
	{"check", checkVerb},
	{"plan", planVerb},
	{"info", infoVerb},
	{"print", printVerb},
	{"find", findVerb},
	{"union", func(c *command) func(context.Context) error { return setVerb(c, sets.Union) }},
	{"intersect", func(c *command) func(context.Context) error { return setVerb(c, sets.Intersect) }},
	{"subtract", func(c *command) func(context.Context) error { return setVerb(c, sets.Subtract) }},
	{"join", joinVerb},
}

// runVerb runs the verb that the first argument names.
func runVerb(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	v := verbTable[0]
	if len(args) > 0 {
		named := slices.IndexFunc(verbTable, func(v verb) bool { return v.name == args[0] })
		if named >= 0 {
			v = verbTable[named]
			args = args[1:]
		}
	}
	c := &command{flags: pflag.NewFlagSet(v.name, pflag.ContinueOnError), stdout: stdout, stderr: stderr}
	c.Stdout = stdout
	c.flags.SetOutput(io.Discard)
	complete := c.addFlags()
	run := v.parse(c)
	if err := c.flags.Parse(args); err != nil {
		return err
	}
	complete()
	return run(ctx)
}

// addFlags defines the flags of all verbs. complete sets the options after the flags have been parsed.
func (c *command) addFlags() (complete func()) {
	opt := &c.Options
	keys := c.flags.StringArrayP("key", "k", nil, "COLUMN[:desc]")
	reverse := c.flags.BoolP("reverse", "r", false, "reverse the order of all keys")
	nulls := c.flags.String("nulls", "last", "first or last")
	nan := c.flags.String("nan", "total", "first, last or total")
	floats := c.flags.String("float", "total", "total or numeric")
	keep := c.flags.String("keep", "first", "first or last")
	strategy := c.flags.String("strategy", "", "")
	c.flags.BoolVarP(&opt.Unique, "unique", "u", false, "write one row for each key")
	c.flags.Int64Var(&opt.Limit, "limit", 0, "write the first N rows; 0: all, negative: none")
	c.flags.StringVarP(&opt.Output, "output", "o", "", "")
	c.flags.StringVar(&opt.Compression, "compress", "", strings.Join(columns.Codecs(), ", "))
	c.flags.Int64VarP(&opt.Memory, "memory", "S", 0, "bytes")
	c.flags.StringArrayVarP(&opt.TempDirs, "temp-dir", "T", nil, "")
	c.flags.IntVar(&opt.Workers, "parallel", 0, "")
	c.flags.IntVar(&opt.SplitFiles, "split-files", 0, "")
	c.flags.Int64Var(&opt.SplitBytes, "split-bytes", 0, "")
	c.flags.StringVar(&c.stats, "stats", "", "text or json")
	c.flags.StringVar(&opt.KeepKey, "keep-key", "", "")
	c.flags.BoolVar(&opt.Verify, "verify", false, "")
	return func() {
		opt.Inputs = c.flags.Args()
		opt.Keys = parseKeys(*keys, *reverse)
		opt.NullsFirst = *nulls == "first"
		opt.NumericFloats = *floats == "numeric"
		opt.Strategy = extsort.Strategy(*strategy)
		if *nan != "total" {
			opt.NaN = extsort.NaNOrder(*nan)
		}
		opt.KeepLast = *keep == "last"
	}
}

func sortVerb(c *command) func(context.Context) error {
	return func(ctx context.Context) error {
		c.MeasurePeak = c.stats != ""
		report, err := columns.Sort(ctx, c.Options)
		if err != nil {
			return err
		}
		return writeStats(c.stderr, c.stats, report)
	}
}

// stats are the fields of a report that extsort --stats=json has as well. Rows with strings can be several
// records.
type stats struct {
	Records      int64            `json:"records"`
	RecordsOut   int64            `json:"records_out"`
	BytesRead    int64            `json:"bytes_read"`
	BytesWritten int64            `json:"bytes_written"`
	BytesSpilled int64            `json:"bytes_spilled"`
	Seconds      float64          `json:"seconds"`
	Strategy     extsort.Strategy `json:"strategy"`
	Verified     bool             `json:"verified"`
	MemoryLimit  int64            `json:"memory_limit"`
	PeakMemory   int64            `json:"peak_memory"`
	Chunks       int              `json:"chunks"`
	FanIn        int              `json:"fan_in"`
	MergeLevels  int              `json:"merge_levels"`
}

// writeStats writes the report of a sort or a set operation.
func writeStats(w io.Writer, form string, r *extsort.Report) error {
	if form == "" || r == nil {
		return nil
	}
	s := stats{
		Records:      r.RecordsRead,
		RecordsOut:   r.RecordsWritten,
		BytesRead:    r.BytesRead,
		BytesWritten: r.BytesWritten,
		BytesSpilled: r.BytesSpilled,
		Seconds:      r.Elapsed.Seconds(),
		Strategy:     r.Strategy,
		Verified:     r.Verified,
		MemoryLimit:  r.MemoryLimit,
		PeakMemory:   r.PeakMemory,
		Chunks:       r.Chunks,
		FanIn:        r.MergeWidth,
		MergeLevels:  r.MergeLevels,
	}
	if form == "json" {
		return json.NewEncoder(w).Encode(s)
	}
	_, err := fmt.Fprintf(w, "records %d, written %d, bytes spilled %d, strategy %s, peak memory %d of %d bytes, %.3f s\n",
		s.Records, s.RecordsOut, s.BytesSpilled, s.Strategy, s.PeakMemory, s.MemoryLimit, s.Seconds)
	return err
}

func planVerb(c *command) func(context.Context) error {
	return func(ctx context.Context) error {
		p, err := columns.Plan(ctx, c.Options)
		if err != nil {
			return err
		}
		if c.stats == "json" {
			return json.NewEncoder(c.stdout).Encode(p)
		}
		out := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintf(out, "strategy\t%s\n", p.Strategy)
		fmt.Fprintf(out, "records\t%d of %d bytes, with keys of %d bytes\n", p.Records, p.RecordSize, p.KeySize)
		fmt.Fprintf(out, "chunks\t%d\n", p.Chunks)
		fmt.Fprintf(out, "memory\t%d bytes for records\n", p.MemoryLimit)
		fmt.Fprintf(out, "temporary files\t%d bytes in %s\n", p.TempBytes, strings.Join(p.TempDirs, ", "))
		fmt.Fprintf(out, "time\t%.1f s, without decoding and encoding\n", p.Predicted.Seconds())
		return out.Flush()
	}
}

func checkVerb(c *command) func(context.Context) error {
	quiet := c.flags.Bool("silent", false, "")
	return func(ctx context.Context) error {
		report, err := columns.Check(ctx, c.Options)
		switch {
		case err != nil:
			return err
		case report.Disorder == 0:
			return nil
		case *quiet:
			return noError{}
		case report.IsEqual:
			return noError{fmt.Sprintf("%s: row %d (counted from 1) has the same key as the row before", report.Input,
				report.Disorder)}
		}
		return noError{fmt.Sprintf("%s: row %d (counted from 1) is out of order; see it: extsort print --range %d:%d %[1]s",
			report.Input, report.Disorder, max(report.Disorder-2, 0), report.Disorder)}
	}
}

func infoVerb(c *command) func(context.Context) error {
	isJSON := c.flags.Bool("json", false, "")
	return func(context.Context) error {
		all, err := columns.Describe(c.Inputs, c.Memory)
		if err != nil {
			return err
		}
		for _, d := range all {
			if *isJSON {
				encoder := json.NewEncoder(c.stdout)
				err = encoder.Encode(d)
			} else {
				err = writeDescription(c.stdout, d)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// writeDescription writes what a file contains, and how to sort it.
func writeDescription(w io.Writer, d columns.Description) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%s\n", d.File)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "  %s\t%s\n", name, value)
		}
	}
	line("format", d.Format)
	if d.Rows != nil {
		line("rows", strconv.FormatInt(*d.Rows, 10))
		line("row groups", strconv.Itoa(d.RowGroups))
	}
	line("bytes", strconv.FormatInt(d.Bytes, 10))
	line("written by", d.CreatedBy)
	line("sorted by", strings.Join(d.SortedBy, ", "))
	fmt.Fprintf(out, "  columns\t\n")
	key := ""
	for _, column := range d.Columns {
		style := []string{}
		if column.Nullable {
			style = append(style, "nullable")
		}
		if column.Compression != "" {
			style = append(style, column.Compression)
		}
		if column.Dictionary {
			style = append(style, "dictionary")
		}
		if column.Refused != "" {
			style = append(style, column.Refused)
		} else if key == "" {
			key = column.Name
		}
		line("  "+column.Name, column.Type+"\t"+strings.Join(style, ", "))
	}
	if key != "" {
		fmt.Fprintf(out, "  to sort\textsort -k %s -o OUTPUT %s\n", key, d.File)
	}
	return out.Flush()
}

func printVerb(c *command) func(context.Context) error {
	opt := &columns.PrintOptions{End: -1}
	c.flags.StringVar(&opt.Form, "as", "table", strings.Join(columns.TextForms(), ", "))
	c.flags.StringSliceVar(&opt.Columns, "columns", nil, "")
	header := c.flags.String("header", "yes", "yes or no")
	head := c.flags.Int64("head", -1, "")
	tail := c.flags.Int64("tail", -1, "")
	c.flags.Int64Var(&opt.First, "first", 0, "the first row to print, from 0")
	c.flags.Int64Var(&opt.End, "end", -1, "the row after the last one to print")
	return func(ctx context.Context) error {
		opt.Options = c.Options
		opt.NoNames = *header == "no"
		opt.Tail = max(*tail, 0)
		if *head >= 0 || *tail == 0 {
			opt.End = max(*head, 0)
		}
		return columns.Print(ctx, *opt)
	}
}

func findVerb(c *command) func(context.Context) error {
	opt := &columns.FindOptions{}
	c.flags.StringArrayVar(&opt.Values, "value", nil, "a value of the key")
	c.flags.StringVar(&opt.From, "from", "", "")
	c.flags.StringVar(&opt.To, "to", "", "")
	c.flags.BoolVar(&opt.Count, "count", false, "")
	c.flags.StringVar(&opt.Form, "as", "", strings.Join(columns.TextForms(), ", "))
	c.flags.StringSliceVar(&opt.Columns, "columns", nil, "")
	header := c.flags.String("header", "yes", "yes or no")
	return func(ctx context.Context) error {
		opt.Options = c.Options
		opt.AsText = opt.Form != ""
		opt.NoNames = *header == "no"
		found, err := columns.Find(ctx, *opt)
		if err == nil && found == 0 {
			return noError{}
		}
		return err
	}
}

func setVerb(c *command, operation sets.Operation) func(context.Context) error {
	opt := &columns.SetOptions{Operation: operation}
	c.flags.BoolVar(&opt.All, "all", false, "")
	return func(ctx context.Context) error {
		opt.Options = c.Options
		report, err := columns.Combine(ctx, *opt)
		if err != nil {
			return err
		}
		return writeStats(c.stderr, c.stats, report)
	}
}

func joinVerb(c *command) func(context.Context) error {
	how := c.flags.String("how", "inner", "inner, left, semi or anti")
	return func(ctx context.Context) error {
		opt := columns.SetOptions{Options: c.Options, Operation: sets.Operation(*how)}
		switch *how {
		case "semi":
			opt.Operation = sets.Intersect
		case "anti":
			opt.Operation = sets.Subtract
		}
		report, err := columns.Combine(ctx, opt)
		if err != nil {
			return err
		}
		return writeStats(c.stderr, c.stats, report)
	}
}
