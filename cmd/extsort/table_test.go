package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestVerbsHaveTheirNames checks the names in verbTable against those of the commands.
func TestVerbsHaveTheirNames(t *testing.T) {
	if got := verbNames((&app{}).verbs()); !slices.Equal(got, namesOfVerbs()) {
		t.Errorf("the commands are %v, their rows %v", got, namesOfVerbs())
	}
}

// TestAFlagAndAVerbAreRows adds a flag and a verb to the tables and finds them wherever flags and
// verbs appear.
func TestAFlagAndAVerbAreRows(t *testing.T) {
	flags, verbs := slices.Clone(flagTable), slices.Clone(verbTable)
	t.Cleanup(func() { flagTable, verbTable = flags, verbs })

	colour, ran := "", ""
	colourFlag := func(g group, _ *flagValues) {
		g.add(oneOf(&colour, "COLOUR", "red", "green"), "toy-colour", "paint the toy; otherwise red").
			hints("toy-paint").notWith("-c", "--toy-plain").offers("blue").notIn("gen", "test data has no colour")
	}
	plainFlag := func(g group, _ *flagValues) { g.bool(new(bool), "toy-plain", "leave the toy as it is") }
	flagTable = append(flagTable, flagGroup{"Toys", "sort, toy", []defineFlag{colourFlag, plainFlag}})
	verbTable = append(verbTable, verbRow{"toy", "play with the toy", func(*app) *cobra.Command {
		return verb("toy [flags]", "Play with the toy for a while.", "  extsort toy", &flagValues{},
			func(*cobra.Command, []string) error { ran = "toy " + colour; return nil })
	}})

	page := commandLinePage()
	for place, shown := range map[string][2]string{
		"--help":            {outputOf(t, "--help"), "--toy-colour COLOUR"},
		"--help, verbs":     {outputOf(t, "--help"), "play with the toy"},
		"toy -h":            {outputOf(t, "toy", "-h"), "Play with the toy"},
		"man":               {outputOf(t, "man"), `.B \-\-toy\-colour COLOUR`},
		"man, see also":     {outputOf(t, "man"), `.BR extsort\-toy (1)`},
		"man toy":           {outputOf(t, "man", "toy"), `extsort\-toy \- play with the toy`},
		"completion, flag":  {completions(t, "--toy"), "--toy-colour"},
		"completion, value": {completions(t, "--toy-colour", ""), "green\nblue\n"},
		"completion, verb":  {completions(t, "to"), "toy\tplay with the toy"},
		"docs/cli.md, flag": {page, "| `--toy-colour COLOUR` | paint the toy: red or green | red |"},
		"docs/cli.md, verb": {page, "\n## extsort toy\n"},
		"hints":             {failed(t, "--toy-paint", "x"), "did you mean --toy-colour?"},
		"values":            {failed(t, "--toy-colour", "pink"), `--toy-colour: "pink": use red or green`},
		"not with -c":       {failed(t, "-t", "u8", "-c", "--toy-colour", "red"), "--toy-colour does not apply to -c"},
		"not in another verb": {failed(t, "gen", "--toy-colour", "red"),
			"--toy-colour does not apply to extsort gen: test data has no colour"},
		"toy, --help":            {outputOf(t, "toy", "--help"), "Toys:\n      --toy-colour COLOUR"},
		"toy, man":               {outputOf(t, "man", "toy"), `.B \-\-toy\-colour COLOUR`},
		"toy, completion, flag":  {completions(t, "toy", "--toy"), "--toy-colour"},
		"toy, completion, value": {completions(t, "toy", "--toy-colour", ""), "green\nblue\n"},
		"toy, hints":             {failed(t, "toy", "--toy-paint", "x"), "did you mean --toy-colour?"},
		"toy, contradiction": {
			failed(t, "toy", "--toy-plain", "--toy-colour", "red"),
			"does not apply to --toy-plain",
		},
	} {
		if !strings.Contains(shown[0], shown[1]) {
			t.Errorf("%s: no %q in %q", place, shown[1], shown[0])
		}
	}
	if outputOf(t, "toy", "--toy-colour", "green"); ran != "toy green" {
		t.Errorf("the verb ran as %q", ran)
	}
	if offered := completions(t, "toy", "--toy-plain", "--toy"); strings.Contains(offered, "--toy-colour") {
		t.Errorf("completion offers a flag that does not apply: %q", offered)
	}
}

// completions returns the completions for a command line.
func completions(t *testing.T, words ...string) string {
	t.Helper()
	code, text := runCommand(t, append([]string{cobra.ShellCompRequestCmd}, words...)...)
	if code != exitDone {
		t.Errorf("completion of %q: exit code %d", words, code)
	}
	return text
}

// failed returns the error message of an invalid command line.
func failed(t *testing.T, args ...string) string {
	t.Helper()
	code, text := runCommand(t, args...)
	if code != exitError {
		t.Errorf("%q: exit code %d", args, code)
	}
	return text
}
