package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/session"
)

// parse returns the options for a command line.
func parse(t *testing.T, args ...string) session.Options {
	t.Helper()
	v := &flagValues{}
	a := &app{}
	cmd := a.sortCommand()
	cmd.ResetFlags()
	addGroups(cmd, v.groups("sort")...)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return v.options(a, cmd.Flags().Args())
}

func TestFlagsAreThoseOfGNUSort(t *testing.T) {
	base := session.Options{Strategy: "auto", SpillCompress: "auto", Inputs: []string{}, Workers: processors}
	with := func(change func(*session.Options)) session.Options {
		opt := base
		change(&opt)
		return opt
	}
	cases := map[string]session.Options{
		"-t u32":    with(func(o *session.Options) { o.Record.Type = "u32" }),
		"-tu32":     with(func(o *session.Options) { o.Record.Type = "u32" }),
		"--type=u8": with(func(o *session.Options) { o.Record.Type = "u8" }),
		"-rut u32 a b": with(func(o *session.Options) {
			o.Record.Type, o.Reverse, o.Unique, o.Inputs = "u32", true, true, []string{"a", "b"}
		}),
		"a -R100 -k8:u32 -k 0:f64:desc b": with(func(o *session.Options) {
			o.Record = format.Spec{RecordSize: 100, Keys: []string{"8:u32", "0:f64:desc"}}
			o.Inputs = []string{"a", "b"}
		}),
		"-S512M -T a -T b --temporary-directory=c": with(func(o *session.Options) {
			o.MemoryBytes, o.TempDirs = 512<<20, []string{"a", "b", "c"}
		}),
		"--buffer-size 1GB --batch-size=16 --parallel 3": with(func(o *session.Options) {
			o.MemoryBytes, o.BatchSize, o.Workers = 1e9, 16, 3
		}),
		"-d gpu -d 2 --device-memory 4G --algorithm onesweep": with(func(o *session.Options) {
			o.Devices, o.DeviceMemory, o.Algorithm = []string{"gpu", "2"}, 4<<30, "onesweep"
		}),
		"--strategy merge --spill-compress zstd --compress gzip -o x --verify --limit 7 -s": with(func(o *session.Options) {
			o.Strategy, o.SpillCompress, o.Compress, o.Output, o.Verify, o.Limit = "merge", "zstd", "gzip", "x", true, 7
		}),
		"-- -o gen": with(func(o *session.Options) { o.Inputs = []string{"-o", "gen"} }),
		"-":         with(func(o *session.Options) { o.Inputs = []string{"-"} }),
	}
	ignore := []cmp.Option{cmpopts.IgnoreFields(session.Options{}, "Warn"), cmpopts.IgnoreUnexported(session.Options{})}
	for line, want := range cases {
		got := parse(t, strings.Fields(line)...)
		if diff := cmp.Diff(want, got, ignore...); diff != "" {
			t.Errorf("%s:\n%s", line, diff)
		}
	}
}

func TestPercentOfMemory(t *testing.T) {
	half, all := parse(t, "-S", "50%").MemoryBytes, parse(t, "-S", "100%").MemoryBytes
	if half < 1 || all/2 != half {
		t.Errorf("50%% is %d bytes and 100%% %d", half, all)
	}
}

func TestVerbIsTheFirstOperand(t *testing.T) {
	a := &app{}
	root, verbs := a.sortCommand(), a.verbs()
	cases := map[string]string{ // the arguments that cobra receives, after | if they are for a verb
		"gen -n 5":                 "|gen -n 5",
		"-t u32 gen -n 5":          "|gen -t u32 -n 5",
		"-ro gen x":                "-ro gen x",
		"-o gen x":                 "-o gen x",
		"--output=gen plan":        "|plan --output=gen",
		"x gen":                    "x gen",
		"./gen":                    "./gen",
		"-- gen":                   "-- gen",
		"-t u32 -- gen":            "-t u32 -- gen",
		"--what gen":               "--what gen",
		"":                         "",
		"__complete x":             "__complete x",
		"__complete gen ":          "__complete gen",
		"__complete -t u8 gen --d": "|__complete gen -t u8 --d",
	}
	for line, want := range cases {
		args, isVerb := verbFirst(strings.Fields(line), root, verbs)
		got := strings.Join(args, " ")
		if isVerb {
			got = "|" + got
		}
		if got != want {
			t.Errorf("%q becomes %q, want %q", line, got, want)
		}
	}
}

func TestNearestFlag(t *testing.T) {
	flags := (&app{}).sortCommand().Flags()
	for name, want := range map[string]string{
		"outptu": "output", "out": "output", "stat": "stats", "limits": "limit", "x": "", "nothing-like-it": "",
	} {
		if got := nearestFlag(flags, name); got != want {
			t.Errorf("--%s: did you mean --%s? want %q", name, got, want)
		}
	}
}
