package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An app contains the streams and the state that all commands share.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	args   []string // arguments of the command line; the verb comes first

	verbCommands []*cobra.Command // the commands of verbTable, cached by verbs

	running atomic.Pointer[bars] // the progress of the latest run
	// out and notes write text to stdout and stderr. The command fails with their first error.
	out, notes *stickyWriter
	afterError func() error // called after the line of an error was printed; may be nil
}

func (a *app) execute(ctx context.Context, args []string) error {
	root := a.sortCommand()
	if slices.ContainsFunc(args, isVerb) {
		var found bool
		if args, found = verbFirst(args, root, a.verbs()); found {
			root.Long = rootLong(a.verbs()) // for the manual page
			root.AddCommand(a.verbs()...)
		}
	}
	if len(args) > 0 && isCompletion(args[0]) {
		hideConflicts(root)
	}
	root.ValidArgsFunction = func(
		cmd *cobra.Command, operands []string, _ string,
	) ([]string, cobra.ShellCompDirective) {
		if len(operands) > 0 || cmd.Flags().NFlag() > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		var offers []string
		for _, c := range a.verbs() {
			offers = append(offers, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
		return offers, cobra.ShellCompDirectiveDefault
	}
	a.args = args
	root.SetArgs(args)
	root.SetIn(a.stdin)
	a.out, a.notes = &stickyWriter{Writer: a.stdout}, &stickyWriter{Writer: a.stderr}
	root.SetOut(a.out)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	return cmp.Or(a.notes.err, err, a.out.err)
}

// A stickyWriter remembers its first error, so that callers don't need to check every write.
type stickyWriter struct {
	io.Writer
	err error
}

func (w *stickyWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.err = cmp.Or(w.err, err)
	return n, err
}

// A verbRow is a row of verbTable: a verb, a short description for lists of verbs, and the command.
type verbRow struct {
	name    string
	short   string
	command func(*app) *cobra.Command
}

// verbTable lists the verbs in the order of the help.
var verbTable = []verbRow{
	{"info", "show what files contain", infoCommand},
	{"print", "print records as text", printCommand},
	{"top", "print the most frequent keys", topCommand},
	{"parse", "convert lines of text to records", parseCommand},
	{"find", "find records by key in a sorted file", findCommand},
	{"index", "make an index of a sorted file, for find", indexCommand},
	{"shuffle", "put records into a random order", shuffleCommand},
	{"union", "write the records of all sorted files", unionCommand},
	{"intersect", "write records whose keys are in all files", intersectCommand},
	{"subtract", "write records whose keys are only in A", subtractCommand},
	{"compare", "count the keys that two files share", compareCommand},
	{"join", "pair the records of two files by key", joinCommand},
	{"gen", "write test data", (*app).genCommand},
	{"plan", "predict how a sort would run", (*app).planCommand},
	{"devices", "list the devices a sort can use", (*app).devicesCommand},
	{"bench", "time the sorting algorithms of a device", (*app).benchCommand},
	{"tune", "measure this machine for better plans", (*app).tuneCommand},
	{"dist", "sort on many machines, with a scheduler", distCommand},
	{"demo", "take a tour: generate, sort, verify", (*app).demoCommand},
	{"help", "show this help, or help for a verb", func(*app) *cobra.Command { return helpCommand() }},
	{"version", "print the version", func(*app) *cobra.Command { return versionCommand() }},
	{"man", "print a manual page", func(*app) *cobra.Command { return manCommand() }},
	{"completion", "print a completion script for a shell", (*app).completionCommand},
}

// namesOfVerbs returns the names of all verbs.
func namesOfVerbs() (names []string) {
	for _, row := range verbTable {
		names = append(names, row.name)
	}
	return names
}

// isVerb reports whether a word is the name of a verb.
func isVerb(word string) bool {
	return slices.ContainsFunc(verbTable, func(row verbRow) bool { return row.name == word })
}

// verbs returns the command of each verb. It takes longer to make the commands than to sort a small
// file, so they are made once, and only if the command line may contain a verb or asks for help.
func (a *app) verbs() []*cobra.Command {
	if a.verbCommands != nil {
		return a.verbCommands
	}
	for _, row := range verbTable {
		cmd := row.command(a)
		cmd.Short = row.short
		a.verbCommands = append(a.verbCommands, cmd)
	}
	return a.verbCommands
}

// verbUsages returns a line of usage for each verb.
func verbUsages(verbs []*cobra.Command) string {
	var b strings.Builder
	for _, cmd := range verbs {
		fmt.Fprintf(&b, "  extsort %-27s %s\n", cmd.Use, cmd.Short)
	}
	return b.String()
}

// verb returns a command below the root. Its flags in flagTable set v. use is its usage, including
// any operands.
func verb(use, about, example string, v *flagValues, run func(*cobra.Command, []string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Long: about + "\n\nUsage:\n  extsort " + use, Example: example}
	cmd.RunE = func(cmd *cobra.Command, operands []string) error {
		if isDone, err := v.runOnColumns(verbName(use), cmd.Flags(), operands); isDone {
			return err
		}
		return run(cmd, operands)
	}
	if !strings.Contains(strings.TrimSuffix(use, " [flags]"), " ") {
		cmd.Args = noOperands
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return errors.Join(conflicts(cmd.Flags())...) }
	addGroups(cmd, v.groups(verbName(use))...)
	return cmd
}

// verbName returns the verb of a usage: dist plan for "dist plan [flags] DIR FILE ...".
func verbName(use string) string {
	var words []string
	for _, word := range strings.Fields(use) {
		if strings.HasPrefix(word, "[") || word != strings.ToLower(word) {
			break
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// noOperands rejects arguments that are neither flags nor values of flags.
func noOperands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no operands, but got %q: %s --help lists its flags",
			cmd.Name(), args[0], cmd.CommandPath())
	}
	return nil
}

// verbFirst reports whether the first operand of the command line is the name of a verb. If so, it
// moves the name to the front, where cobra expects it. The command of a sort has no sub-commands,
// so that a file is never mistaken for a verb. (Cobra by itself would mistake the value of -o in
// "-ro gen" for a verb.)
//
// To request completions, a shell puts one of cobra's words before the command line. The last
// argument is then incomplete.
func verbFirst(args []string, root *cobra.Command, verbs []*cobra.Command) ([]string, bool) {
	from, to := 0, len(args)
	if len(args) > 1 && isCompletion(args[0]) {
		from, to = 1, len(args)-1
	}
	at := firstOperand(args[from:to], append([]*cobra.Command{root}, verbs...))
	if at < 0 || !isVerb(args[from+at]) {
		return args, false
	}
	at += from
	return slices.Concat(args[:from], args[at:at+1], args[from:at], args[at+1:]), true
}

// isCompletion reports whether the first word of a command line is a shell's request for
// completions.
func isCompletion(word string) bool {
	return word == cobra.ShellCompRequestCmd || word == cobra.ShellCompNoDescRequestCmd
}

func verbNames(verbs []*cobra.Command) []string {
	var names []string
	for _, c := range verbs {
		names = append(names, c.Name())
	}
	return names
}

// firstOperand returns the index of the first argument that is neither a flag nor the value of
// one, or -1.
func firstOperand(args []string, commands []*cobra.Command) int {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, c := range commands {
		c.InitDefaultHelpFlag()
		all.AddFlagSet(c.Flags())
	}
	all.SetInterspersed(false)
	err := all.ParseAll(args, func(*pflag.Flag, string) error { return nil })
	at := len(args) - all.NArg()
	if err != nil || all.NArg() == 0 || at > 0 && args[at-1] == "--" {
		return -1
	}
	return at
}

func (a *app) completionCommand() *cobra.Command {
	cmd := verb("completion SHELL",
		"Print a completion script for a shell: bash, zsh, fish or powershell.",
		"  source <(extsort completion bash)\n  extsort completion fish > ~/.config/fish/completions/extsort.fish",
		&flagValues{}, nil)
	cmd.ValidArgs = []string{"bash", "zsh", "fish", "powershell"}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch strings.Join(args, " ") {
		case "bash":
			return cmd.Root().GenBashCompletionV2(a.out, true)
		case "zsh":
			return cmd.Root().GenZshCompletion(a.out)
		case "fish":
			return cmd.Root().GenFishCompletion(a.out, true)
		case "powershell":
			return cmd.Root().GenPowerShellCompletionWithDesc(a.out)
		}
		return fmt.Errorf("completion: name one shell: %s", inWords(cmd.ValidArgs))
	}
	return cmd
}
