package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/internal/testfiles"
)

// flagSamples contains values of flags that differ from the defaults. For other flags, the test
// uses one of the offered values, or no value.
var flagSamples = map[string]string{
	"type": "u16", "record-size": "4", "key": "0:u8", "member": "a", "part": "0/2", "skip-bytes": "8",
	"records": "2", "skip-tail": "8", "limit": "1", "split": "2", "buffer-size": "32M",
	"temporary-directory": ".", "checkpoint": "kept", "parallel": "1", "device": "cpu", "device-memory": "1G",
	"algorithm": "radix", "digit-bits": "4", "batch-size": "2", "progress": "always", "stats": "text",
	"strategy": "merge", "spill-compress": "zstd", "output": "out", "files0-from": "names", "files-from": "lines",
	"compress": "gzip", "sum": "n=0:u8:u64", "min": "a=0:u8", "max": "b=0:u8", "first": "c=0:u8", "last": "d=0:u8",
	"fields": "time=0:u64", "nulls": "first", "keep-key": "h",
	"format": "gensort", "keep": "last", "argsort": "u32", "nan": "first", "float": "numeric", "decompress": "none",
}

// A sortMode is a variant of a sort. library returns the options that the library receives.
type sortMode struct {
	flags   []string
	files   []string
	library func(session.Options) any
}

func sortModes() []sortMode {
	sorted := func(opt session.Options) any { return opt }
	checked := func(opt session.Options) any { return fields.Shared[session.CheckOptions](opt) }
	merged := func(opt session.Options) any { return fields.Shared[session.MergeOptions](opt) }
	joined := func(opt session.Options) any { return opt.Unique }
	const layout = "-tu64"
	return []sortMode{
		{[]string{layout}, []string{"unsorted"}, sorted},
		{[]string{layout, "-c"}, []string{"in"}, checked},
		{[]string{layout, "-c=quiet"}, []string{"in"}, checked},
		{[]string{layout, "-C"}, []string{"in"}, checked},
		{[]string{layout, "-m"}, []string{"in", "in"}, merged},
		{[]string{"-c", "--join"}, []string{"report.json"}, joined},
	}
}

// TestEveryFlagHasAnEffectOrIsRefused adds each flag to the sort in each of its modes. The
// library must receive different options, the command must print something else, or one line must
// reject the flag.
func TestEveryFlagHasAnEffectOrIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"in": strings.Repeat("\x00", 64), "unsorted": strings.Repeat("87654321", 8) + "11111111",
		"names": "in\x00", "lines": "in\n",
	} {
		testfiles.Write(t, name, []byte(text))
	}
	outputOf(t, "-tu64", "-c", "--stats=json:report.json", "in")

	pairs := 0
	for _, mode := range sortModes() {
		(&app{}).sortCommand().Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "stable" || isMode(mode, f) {
				return // according to its help, --stable changes nothing
			}
			pairs++
			testFlagInMode(t, mode, f)
		})
	}
	if pairs < 200 {
		t.Errorf("only %d pairs of a mode and a flag", pairs)
	}
}

// isMode reports whether the flag selects the mode.
func isMode(mode sortMode, f *pflag.Flag) bool {
	return slices.ContainsFunc(mode.flags, func(word string) bool {
		name, _, _ := strings.Cut(word, "=")
		isCheck := name == "-c" || name == "-C"
		return name == typedName(f) || isCheck && strings.HasPrefix(f.Name, "check")
	})
}

func testFlagInMode(t *testing.T, mode sortMode, f *pflag.Flag) {
	t.Helper()
	word := "--" + f.Name
	if f.Value.Type() != "bool" {
		sample := flagSamples[f.Name]
		if sample == "" {
			sample = slices.Concat(choices(f), f.Annotations[offeredValues], []string{"x"})[0]
		}
		word += "=" + sample
	}
	line := strings.Join(append(mode.flags, word), " ")

	with, said := runMode(t, mode, word)
	if with == exitError {
		isNamed := strings.Contains(said, typedName(f)) || strings.Contains(said, f.Name) ||
			strings.Contains(said, "-c and -m")
		if strings.Count(said, "\n") != 1 || len(said) > 2*160 || !isNamed {
			t.Errorf("%s: the refusal is not one line that names the flag: %q", line, said)
		}
		return
	}
	if !reflect.DeepEqual(libraryOptions(t, mode), libraryOptions(t, mode, word)) {
		return
	}
	if f.Name == "quiet" { // its effect is visible only in a run that prints warnings
		mode.flags = append(slices.Clone(mode.flags), "-S1000000G")
		with, said = runMode(t, mode, word)
	}
	if without, saidWithout := runMode(t, mode); with == without && said == saidWithout {
		t.Errorf("%s: the flag changes nothing and is not refused: it prints %q", line, said)
	}
}

// runMode runs the command and returns its exit status and its output.
func runMode(t *testing.T, mode sortMode, words ...string) (int, string) {
	t.Helper()
	for _, left := range []string{"out", "kept"} {
		if err := os.RemoveAll(left); err != nil {
			t.Fatal(err)
		}
	}
	return runCommand(t, slices.Concat(mode.flags, words, mode.files)...)
}

// libraryOptions returns the options that the library would receive for a command line.
func libraryOptions(t *testing.T, mode sortMode, words ...string) any {
	t.Helper()
	opt := parse(t, slices.Concat(mode.flags, words, mode.files)...)
	opt.Warn = nil // functions cannot be compared
	return mode.library(opt)
}

// TestFlagsOfOtherVerbsAreRefused gives each verb every flag that it does not have.
func TestFlagsOfOtherVerbsAreRefused(t *testing.T) {
	all := map[string]*pflag.Flag{}
	for _, row := range flagTable {
		g := newGroup(row.title)
		for _, define := range row.flags {
			define(g, &flagValues{})
		}
		g.flags.VisitAll(func(f *pflag.Flag) { all[f.Name] = f })
	}
	a := &app{}
	root := a.sortCommand()
	root.AddCommand(a.verbs()...)
	commands := append(root.Commands(), root)
	for i := 0; i < len(commands); i++ {
		cmd := commands[i]
		if cmd != root {
			commands = append(commands, cmd.Commands()...)
		}
		for name := range all {
			if cmd.Flags().Lookup(name) != nil {
				continue
			}
			err := cmd.FlagErrorFunc()(cmd, cmd.ParseFlags([]string{"--" + name}))
			want := fmt.Sprintf("--%s does not apply to %s: ", name, cmd.CommandPath())
			if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 160 {
				t.Errorf("%s --%s: %v, want %q", cmd.CommandPath(), name, err, want)
			}
		}
	}
	if len(commands) < 20 {
		t.Errorf("only %d commands", len(commands))
	}
}

// TestFlagsOfTables checks that verbs on Parquet and Arrow files have the flags that they accept, and -S, which errors
// of all these verbs ask for.
func TestFlagsOfTables(t *testing.T) {
	for verb, names := range columnVerbs {
		if !slices.Contains(names, "buffer-size") {
			t.Errorf("%s has no -S", verb)
		}
		for _, name := range names {
			if !slices.Contains(verbsWith(name), verb) && !slices.Contains([]string{"check", "check-quiet"}, name) {
				t.Errorf("%s accepts --%s, which it does not have", verb, name)
			}
		}
	}
}

// TestContradictoryFlags checks, for each verb, that a flag is rejected if another flag makes it
// meaningless.
func TestContradictoryFlags(t *testing.T) {
	folder := t.TempDir()
	svg := filepath.Join(folder, "plot.svg")
	for line, want := range map[string]string{
		"bench --from x.json --runs 3":            "--runs does not apply to --from: leave it out",
		"bench --from x.json --table all":         "--table",
		"tune --show --reset":                     "--show does not apply to --reset: leave it out",
		"tune --show -T .":                        "-T does not apply to --show: leave it out",
		"tune --reset --budget 5s":                "--budget does not apply to --reset: leave it out",
		"dist plan --runs 2 --run-size 1G -tu8 p": "--run-size does not apply to --runs: leave it out",
		"dist plan -tu8 --svg " + svg + " p f":    "--svg only works with --simulate",
		"dist plan -tu8 -S 1G p f":                "-S only works with --simulate",
		"dist verify --part 0/2 --all p":          "--all does not apply to --part: leave it out",
		"dist verify --part 0/2 --keep-runs p":    "--keep-runs does not apply to --part: leave it out",
		"dist cut --strategy merge p":             "--strategy does not apply to extsort dist cut",
		"dist merge -d gpu p":                     "-d, --device does not apply to extsort dist merge",
		"shuffle -R 8 --verify f":                 "--verify does not apply to extsort shuffle: a random order",
		"shuffle -R 8 -k 0:u8 f":                  "-k, --key does not apply to extsort shuffle: the order does not",
		"plan -tu8 -n 5 --size 1G":                "--size does not apply to -n: leave it out",
		"-tu8 -q --progress always f":             "--progress does not apply to -q: leave it out",
		"--seed 7 -tu8 f":                         "--seed does not apply to extsort: it is a flag of extsort",
	} {
		said := failed(t, strings.Fields(line)...)
		if !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: %q, want %q", line, said, want)
		}
	}
}
