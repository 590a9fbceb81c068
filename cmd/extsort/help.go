package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// showHelp prints the short help for -h, and the full help for --help. args are the arguments of
// the command line.
func showHelp(cmd *cobra.Command, args []string, groups []group) {
	long := func(arg string) bool { return strings.HasPrefix(arg, "--help") }
	w := cmd.OutOrStdout()
	switch {
	case slices.ContainsFunc(args, long):
		writeHelp(w, cmd, groups)
	case cmd.HasParent():
		writeShortHelp(w, cmd)
	default:
		io.WriteString(w, rootShort)
	}
}

// writeHelp writes the description of a command, its flags by group and examples, wrapped at the
// width of w.
func writeHelp(w io.Writer, cmd *cobra.Command, groups []group) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(cmd.Long))
	for _, g := range groups {
		fmt.Fprintf(
			&b,
			"\n%s:\n%s",
			g.flags.Name(),
			flagsForHelp(g.flags).FlagUsagesWrapped(outputColumns(w)),
		)
	}
	if cmd.Example != "" {
		fmt.Fprintf(
			&b, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"),
		)
	}
	if cmd.Flags().Lookup("type") != nil {
		b.WriteString(helpTypes)
	}
	if !cmd.HasParent() {
		b.WriteString(helpEnd)
	}
	io.WriteString(w, b.String())
}

// writeShortHelp writes the description of a command, and one line for each of its flags.
func writeShortHelp(w io.Writer, cmd *cobra.Command) {
	about, _, _ := strings.Cut(strings.TrimSpace(cmd.Long), "\n\nTables:")
	fmt.Fprintf(w, "%s\n\nFlags:\n", about)
	brief := pflag.NewFlagSet("", pflag.ContinueOnError)
	brief.SortFlags = false
	names := 0
	shown := flagsForHelp(cmd.Flags())
	shown.VisitAll(func(f *pflag.Flag) {
		names = max(names, len(f.Name)+len(f.Value.Type()))
	})
	room := outputColumns(w) - len("  -x, -- "+"   ") - names // the line is "  -x, --NAME VALUE   USAGE"
	shown.VisitAll(func(f *pflag.Flag) {
		short := *f
		short.Usage = firstClause(f.Usage, room)
		short.DefValue = "" // only --help shows defaults
		brief.AddFlag(&short)
	})
	fmt.Fprint(w, brief.FlagUsages())
	if example, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n"); example != "" {
		fmt.Fprintf(w, "\nExample: %s\n", example)
	}
	fmt.Fprintf(w, "\n%s --help explains the flags.\n", cmd.CommandPath())
}

// firstClause returns the beginning of a usage that fits into room columns, if possible up to a
// punctuation mark.
func firstClause(usage string, room int) string {
	for _, mark := range []string{" (", "; ", ": ", ", "} {
		if len(usage) <= room {
			return usage
		}
		usage, _, _ = strings.Cut(usage, mark)
	}
	if len(usage) <= room {
		return usage
	}
	end := strings.LastIndex(usage[:room-len(" ...")], " ")
	return usage[:max(end, 0)] + " ..."
}

// flagsForHelp returns flags in the form for the help, which marks optional values: --check[=HOW].
func flagsForHelp(flags *pflag.FlagSet) *pflag.FlagSet {
	shown := pflag.NewFlagSet(flags.Name(), pflag.ContinueOnError)
	shown.SortFlags = false
	flags.VisitAll(func(f *pflag.Flag) {
		copied := *f
		if f.NoOptDefVal != "" && f.Value.Type() != "bool" {
			copied.Name = nameWithValue(f)
			copied.NoOptDefVal = ""
			copied.Value = unnamedValue{f.Value}
		}
		shown.AddFlag(&copied)
	})
	return shown
}

// unnamedValue is a value whose name the usage of its flag does not contain.
type unnamedValue struct{ pflag.Value }

func (unnamedValue) Type() string { return "" }

// nameWithValue returns a flag's long name and its value as a user types them: output FILE,
// check[=HOW].
func nameWithValue(f *pflag.Flag) string {
	switch {
	case f.Value.Type() == "bool":
		return f.Name
	case f.NoOptDefVal != "":
		return f.Name + "[=" + f.Value.Type() + "]"
	}
	return f.Name + " " + f.Value.Type()
}

// outputColumns returns the width of the terminal w. If w is not a terminal, it returns $COLUMNS or
// 80.
func outputColumns(w io.Writer) int {
	width, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return max(cmp.Or(terminalColumns(w), max(width, 0), 80), leastColumns)
}

// terminalColumns returns the width of the terminal w, or 0 if w is not a terminal.
func terminalColumns(w io.Writer) int {
	if h, ok := w.(*stickyWriter); ok {
		w = h.Writer
	}
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// leastColumns is the minimum width of the help, so that the descriptions of flags have some
// room.
const leastColumns = 60

// helpCommand returns the verb help, which is --help for extsort or for another verb.
func helpCommand() *cobra.Command {
	return verb("help [VERB]", "Show the help of extsort or of one of its verbs, as --help does.",
		"  extsort help\n  extsort help gen\n  extsort help dist run", &flagValues{},
		func(cmd *cobra.Command, args []string) error {
			about, rest, _ := cmd.Root().Find(args) // rest contains the unknown words
			switch {
			case len(rest) == 0:
				about.HelpFunc()(about, []string{"--help"})
				return nil
			case about.HasParent() && !about.HasSubCommands():
				return errors.New("help: name one command")
			case otherVerbs[rest[0]] != "":
				return fmt.Errorf(
					"help: unknown command %q: use %s",
					rest[0],
					otherVerbs[rest[0]],
				)
			}
			return fmt.Errorf(
				"help: unknown command %q: %s --help lists them",
				rest[0],
				about.CommandPath(),
			)
		})
}

// firstLines is the output of extsort without arguments.
const firstLines = `extsort sorts files of fixed-size binary records. Describe a record:
  extsort -t u64 -o sorted.bin keys.bin           64-bit numbers
  extsort -R 16 -k 8:u32 -o sorted.bin log.bin    16 bytes each, by a field
  extsort -k price -o sorted.npy trades.npy       a NumPy array, by a field
  extsort demo                                    a tour with generated data
extsort -h lists the usual flags, --help all of them.
`

const rootShort = `Sort large files of fixed-size binary records.

Usage:
  extsort [flags] [FILE ...]   sort to standard output, or to -o FILE
  extsort -c [flags] [FILE]    check that FILE is sorted
  extsort -m [flags] FILE ...  merge files that are sorted
  extsort VERB [flags]         info, print, parse, shuffle, gen, plan, help

  -t TYPE             plain numbers: u8 to u128, i8 to i128, f32, f64, bytesN
  -R BYTES            the record size
  -k OFFSET:TYPE      a key at byte OFFSET, from 0 (NumPy: NAME); append :desc
                      for largest first; the first -k is the most significant
  -f FORMAT           gensort, npy, fvecs, sosd ...; .npy files need no -f
  -o FILE             write to FILE, completely or not at all
  -r                  reverse the whole order
  -u                  write only the first record of each key
  --limit N           write only the first N records of the result
  --nan last          sort NaNs last
  -S SIZE             memory limit, at least 16M; otherwise half of the memory
  -T DIR              directory for temporary data
  --verify            check the result
  --stats[=FORM]      report what was done, as text, json or json:FILE

Example: extsort -t u64 -o sorted.bin keys.bin
extsort --help lists all flags, extsort man | man -l - is the manual.
`

// rootLong returns the beginning of the help: the purpose of extsort, and the usage of the sort
// and of each verb.
func rootLong(verbs []*cobra.Command) string {
	return `
Sort large files of fixed-size binary records within a memory limit, on a GPU if
you have one.

Usage:
  extsort [flags] [FILE ...]          sort FILEs ("-" or none: standard input)
  extsort -c | -C [flags] [FILE]      check that FILE is sorted (-C: silently)
  extsort -m [flags] FILE ...         merge files that are already sorted
` + verbUsages(verbs) + `Write ./gen for a file named like a verb. -h prints a summary of the flags.`
}

const rootExample = `  extsort -t u64 -o sorted.bin keys.bin        a file of 64-bit keys
  extsort -R 100 -k 0:bytes10 -S 2G in -o out  by the first ten bytes, in 2 GiB
  extsort -R 12 -k 8:u32be -k 0:f64:desc in    by two fields, one descending
  extsort -k price:desc trades.npy -o t.npy    a NumPy array by a field
  zstd -dc keys.zst | extsort -t u32 --limit 10 | xxd
  extsort -c -t u64 sorted.bin && echo in order`

const helpTypes = `
TYPE is u8 u16 u24 u32 u40 u48 u64 u128 i8 i16 i24 i32 i40 i48 i64 i128 f16 bf16
f32 f64 f80 f80in96 f80in128, ucsN (N characters of 4 bytes) or bytesN (N bytes,
in the order of memcmp). They are little-endian; append "be" for big-endian, as
in u32be. f80 is the long double of x86, in 10, 12 or 16 bytes. time_s, time_ms,
time_us and time_ns are an i64 that is shown as a date. Mainframes have zonedN,
packedN (COMP-3) and ebcdicN, of N bytes.
Other names work, too: uint64_t, int, double, u32le, uuid, char10, <u8, FI4.
Floats: -NaN < -Inf < ... < -0 < +0 < ... < +Inf < +NaN (--nan, --float).
`

const helpEnd = `
SIZE is in bytes, or has a suffix K M G T (powers of 1024; also KB, KiB ...).
N and COUNT are numbers of records, or have a suffix k M G (powers of 1000) or
Ki Mi Gi (powers of 1024). Both may be 1e6, 10_000_000 or 2^20.
NumPy arrays and .npz archives (--member) are detected if -t, -R and -f are not
given. The compression of an input is detected from its first bytes (brotli: the
suffix .br); s2 includes snappy. Parquet files need the program extsort-columns.
Files of other formats (.xz, Arrow, HDF5, FITS ...) are refused without --raw.
Inputs can also be s3://BUCKET/KEY, gs://BUCKET/KEY or https://..., and outputs
can be objects, if extsort was built with -tags s3. Release binaries are.

SIGUSR1 (on BSD and macOS SIGINFO, Ctrl-T) prints one line of progress.

Exit status: 0 success, 1 a check found disorder, or find found no key, 2 any
other error; dist also uses 75: a temporary error, run the command again.
`
