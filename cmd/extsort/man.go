package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand() *cobra.Command {
	return verb("man", "Write the manual page to standard output, as roff.",
		"  extsort man | man -l -\n  extsort man > ~/.local/share/man/man1/extsort.1", nil,
		func(cmd *cobra.Command, _ []string) error { writeManual(cmd.OutOrStdout(), cmd.Root()); return nil })
}

// writeManual writes the manual page in the macros of man(7): the sort, then each verb.
func writeManual(w io.Writer, root *cobra.Command) {
	fmt.Fprintln(w, `.TH EXTSORT 1 "" "extsort" "User Commands"`)
	fmt.Fprintln(w, ".SH NAME\nextsort \\- sort large files of fixed\\-size binary records")
	about, usage, _ := strings.Cut(strings.TrimSpace(root.Long), "\n\nUsage:\n")
	asTyped(w, "SYNOPSIS", usage)
	fmt.Fprintf(w, ".SH DESCRIPTION\n%s\n.SH OPTIONS\n", roff(about))
	manualFlags(w, root)
	asTyped(w, "TYPES, SIZES AND STATUS", strings.TrimSpace(helpTypes+helpEnd))
	asTyped(w, "EXAMPLES", root.Example)
	manualVerbs(w, root)
}

func manualVerbs(w io.Writer, above *cobra.Command) {
	for _, cmd := range above.Commands() {
		if cmd.Hidden {
			continue
		}
		asTyped(w, strings.ToUpper(cmd.CommandPath()), strings.TrimSpace(cmd.Long))
		manualFlags(w, cmd)
		if cmd.Example != "" {
			fmt.Fprintln(w, ".PP\nExamples:")
			lines(w, cmd.Example)
		}
		manualVerbs(w, cmd)
	}
}

// asTyped writes a section whose lines stay as they are.
func asTyped(w io.Writer, title, text string) {
	fmt.Fprintf(w, ".SH %q\n", title)
	lines(w, text)
}

func lines(w io.Writer, text string) { fmt.Fprintf(w, ".nf\n%s\n.fi\n", roff(text)) }

// manualFlags writes the flags of a command, each group of the help under its title.
func manualFlags(w io.Writer, cmd *cobra.Command) {
	last := ""
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if title := strings.Join(f.Annotations[groupTitle], ""); title != last {
			fmt.Fprintf(w, ".SS %q\n", title)
			last = title
		}
		value := strings.TrimPrefix(nameWithValue(f), f.Name)
		usage := f.Usage + when(f.DefValue != "" && f.DefValue != "false", " (default %s)", f.DefValue)
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", roff(flagName(f)+value), roff(usage))
	})
}

// roff is a text in which nothing is taken for a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	all := strings.Split(text, "\n")
	for i, line := range all {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			all[i] = `\&` + line
		}
	}
	return strings.Join(all, "\n")
}
