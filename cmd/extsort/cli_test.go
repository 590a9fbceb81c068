package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/internal/testfiles"
)

const cliPage = "../../docs/cli.md"

// TestCommandLinePage compares docs/cli.md with the definitions of the verbs and flags. -update
// rewrites the page.
func TestCommandLinePage(t *testing.T) {
	want := commandLinePage()
	if *updateExamples && os.Getenv("CI") == "" {
		testfiles.Write(t, cliPage, []byte(want))
	}
	text := testfiles.Read(t, cliPage)
	if string(text) != want {
		t.Error("docs/cli.md is out of date: CI= go test -run TestCommandLinePage ./cmd/extsort -update")
	}
	for _, name := range []string{"### Order", "| `-k`, `--key FIELD` |", "## extsort dist plan", "`--seed N`"} {
		if !strings.Contains(want, name) {
			t.Errorf("the page lacks %q", name)
		}
	}
}

// commandLinePage returns docs/cli.md: the flags of a sort, then each verb with the flags that it
// adds.
func commandLinePage() string {
	var b strings.Builder
	fmt.Fprint(
		&b,
		"# Command line\n\nFor looking up a verb or a flag. A test generates this page from the command's own "+
			"definitions.\nThe [cookbook](cookbook.md) has examples, [records.md](records.md) the types.\n",
	)
	root := (&app{}).sortCommand()
	root.Long = rootLong((&app{}).verbs())
	writeCommand(&b, root, nil)
	shared := map[string]string{}
	root.Flags().VisitAll(func(f *pflag.Flag) { shared[f.Name] = flagRow(f) })
	for _, cmd := range (&app{}).verbs() {
		writeVerb(&b, cmd, shared)
	}
	fmt.Fprintf(&b, "\n## Types, sizes and exit status\n\n```text\n%s\n```\n", strings.TrimSpace(helpTypes+helpEnd))
	return b.String()
}

func writeVerb(b *strings.Builder, cmd *cobra.Command, shared map[string]string) {
	if cmd.Hidden {
		return
	}
	writeCommand(b, cmd, shared)
	for _, below := range cmd.Commands() {
		writeVerb(b, below, shared)
	}
}

// writeCommand writes the section of a command. If the row of a flag is in shared, it only lists
// the flag's name.
func writeCommand(b *strings.Builder, cmd *cobra.Command, shared map[string]string) {
	about, usage, _ := strings.Cut(strings.TrimSpace(cmd.Long), "\n\nUsage:\n")
	name := cmd.CommandPath()
	if shared != nil {
		name = "extsort " + name // the verbs are not attached to the root here
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n```text\n%s\n```\n", name, about, strings.TrimRight(usage, "\n"))
	title := ""
	var same []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		row := flagRow(f)
		if shared[f.Name] == row {
			same = append(same, "`"+shortName(f)+"`")
			return
		}
		if group := strings.Join(f.Annotations[groupTitle], ""); group != title {
			title = group
			fmt.Fprintf(b, "\n### %s\n\n| flag | effect | default |\n|---|---|---|\n", title)
		}
		b.WriteString(row)
	})
	if len(same) > 0 {
		fmt.Fprintf(b, "\nAlso, as [above](#extsort): %s.\n", strings.Join(same, " "))
	}
	if example := strings.TrimRight(cmd.Example, "\n"); example != "" {
		fmt.Fprintf(b, "\nExamples:\n\n```text\n%s\n```\n", example)
	}
}

// flagRow returns the row of a flag in a table.
func flagRow(f *pflag.Flag) string {
	name := "`--" + nameWithValue(f) + "`"
	if f.Shorthand != "" {
		name = "`-" + f.Shorthand + "`, " + name
	}
	unset := f.DefValue
	if slices.Contains([]string{"false", "0", "[]"}, unset) {
		unset = ""
	}
	cells := []string{name, f.Usage, cmp.Or(unset, f.NoOptDefVal)}
	if f.Value.Type() == "bool" {
		cells[2] = ""
	}
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func shortName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}
