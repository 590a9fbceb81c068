package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand() *cobra.Command {
	cmd := verb("man [VERB]", "Print the manual page of extsort, or of one of its verbs, for man(1).",
		"  extsort man | man -l -\n  extsort man dist | man -l -\n  extsort man > ~/.local/share/man/man1/extsort.1",
		&flagValues{},
		func(cmd *cobra.Command, args []string) error {
			about, rest, _ := cmd.Root().Find(args) // rest contains the unknown words
			if len(rest) > 0 {
				return fmt.Errorf(
					"man: unknown command %q: extsort --help lists them",
					rest[0],
				)
			}
			writeManual(cmd.OutOrStdout(), about)
			return nil
		})
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return verbNames(cmd.Root().Commands()), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// writeManual writes the manual page of a command in the macros of man(7). Sub-commands are
// sections of the page, but the verbs of the root have pages of their own.
func writeManual(w io.Writer, cmd *cobra.Command) {
	isRoot := !cmd.HasParent()
	page := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	short := cmd.Short
	if isRoot {
		short = "sort large files of fixed-size binary records"
	}
	about, usage, _ := strings.Cut(strings.TrimSpace(cmd.Long), "\n\nUsage:\n")
	fmt.Fprintf(
		w,
		".TH %s 1 \"\" \"extsort\" \"User Commands\"\n",
		escapeRoff(strings.ToUpper(page)),
	)
	fmt.Fprintf(w, ".SH NAME\n%s \\- %s\n", escapeRoff(page), escapeRoff(short))
	writeVerbatim(w, "SYNOPSIS", usage)
	fmt.Fprintf(w, ".SH DESCRIPTION\n%s\n.SH OPTIONS\n", escapeRoff(about))
	manualFlags(w, cmd)
	if !isRoot {
		manualVerbs(w, cmd)
	}
	if cmd.Flags().Lookup("type") != nil {
		writeVerbatim(w, "TYPES", strings.TrimSpace(helpTypes))
	}
	if isRoot {
		writeVerbatim(w, "SIZES AND INPUTS", strings.TrimSpace(helpEnd))
	}
	writeVerbatim(w, "EXIT STATUS", manualStatus(cmd))
	writeVerbatim(w, "ENVIRONMENT", manualEnvironment)
	writeVerbatim(w, "FILES", manualFiles)
	if cmd.Example != "" {
		writeVerbatim(w, "EXAMPLES", cmd.Example)
	}
	fmt.Fprintf(
		w, ".SH \"SEE ALSO\"\n%s\n", strings.Join(relatedPages(cmd), "\n"),
	)
}

const manualEnvironment = `TMPDIR           the directory for temporary data without -T
COLUMNS          the width of the help, if the output is not a terminal
TERM             dumb: show no progress bar
EXTSORT_PROFILE  default: ignore the measurements of extsort tune
GOGC             the target of the garbage collector; otherwise 50
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE,
AWS_REGION, AWS_ENDPOINT_URL: the credentials and address of object stores`

const manualFiles = `/var/tmp           temporary data without -T and TMPDIR
~/.cache/extsort   measurements of extsort tune ($XDG_CACHE_HOME/extsort if set)`

// manualStatus returns the exit statuses of a command.
func manualStatus(cmd *cobra.Command) string {
	lines := []string{"0   success", "2   an error"}
	if cmd.Flags().Lookup("check") != nil {
		lines = []string{"0   success", "1   a check found disorder", "2   any other error"}
	}
	if cmd.Name() == "find" {
		lines = []string{
			"0   a record was found (with --missing: a key is missing)",
			"1   no record was found (with --missing: no key is missing)",
			"2   an error",
		}
	}
	if cmd.Name() == "dist" ||
		cmd.HasParent() && cmd.Parent().Name() == "dist" {
		lines = append(lines, "75  a temporary error: run the command again")
	}
	return strings.Join(lines, "\n")
}

// relatedPages returns references to the other manual pages.
func relatedPages(cmd *cobra.Command) []string {
	related := []string{".BR extsort (1)"}
	if !cmd.HasParent() {
		related = []string{".BR sort (1)"}
	}
	for _, other := range cmd.Root().Commands() {
		if other != cmd && !other.Hidden {
			related = append(
				related, fmt.Sprintf(".BR extsort\\-%s (1)", other.Name()),
			)
		}
	}
	// The comma follows the section number of a page, on the same line.
	for i := range related[:len(related)-1] {
		related[i] += ","
	}
	return related
}

// manualVerbs writes a section for each verb below a command.
func manualVerbs(w io.Writer, above *cobra.Command) {
	for _, cmd := range above.Commands() {
		if cmd.Hidden {
			continue
		}
		writeVerbatim(
			w, strings.ToUpper(cmd.CommandPath()), strings.TrimSpace(cmd.Long),
		)
		manualFlags(w, cmd)
		if cmd.Example != "" {
			fmt.Fprintln(w, ".PP\nExamples:")
			writeUnfilled(w, cmd.Example)
		}
		manualVerbs(w, cmd)
	}
}

// writeVerbatim writes a section whose lines must not be reformatted.
func writeVerbatim(w io.Writer, title, text string) {
	fmt.Fprintf(w, ".SH %q\n", title)
	writeUnfilled(w, text)
}

func writeUnfilled(w io.Writer, text string) {
	fmt.Fprintf(w, ".nf\n%s\n.fi\n", escapeRoff(text))
}

// manualFlags writes the flags of a command, each group of the help under its title.
func manualFlags(w io.Writer, cmd *cobra.Command) {
	last := ""
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		title := strings.Join(f.Annotations[groupTitle], "")
		if title != last &&
			title != "" {
			fmt.Fprintf(w, ".SS %q\n", title)
			last = title
		}
		value := strings.TrimPrefix(nameWithValue(f), f.Name)
		usage := f.Usage + textIf(
			f.DefValue != "" && f.DefValue != "false",
			" (default %s)",
			f.DefValue,
		)
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", escapeRoff(flagName(f)+value), escapeRoff(usage))
	})
}

// escapeRoff escapes a text so that nothing in it is a request or an escape.
func escapeRoff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	all := strings.Split(text, "\n")
	for i, line := range all {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			all[i] = `\&` + line
		}
	}
	return strings.Join(all, "\n")
}
