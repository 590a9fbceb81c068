package main

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestFieldsAreFlags checks that each option of the library has a flag, except options for
// programs only, and that messages name the flag.
func TestFieldsAreFlags(t *testing.T) {
	programs := " Inputs Sources Stdin Record Stdout Sink SplitFiles SplitBytes Shuffle Seed Progress Verified " +
		"Warn Logger MeasureMemory "
	flags := (&app{}).sortCommand().Flags()
	seen := 0
	for prefix, kind := range map[string]reflect.Type{
		"Options.": reflect.TypeFor[session.Options](), "Record.": reflect.TypeFor[format.Spec](),
	} {
		for _, field := range reflect.VisibleFields(kind) {
			if !field.IsExported() || strings.Contains(programs, " "+field.Name+" ") {
				continue
			}
			name := strings.TrimLeft(option.Field(prefix+field.Name).String(), "-")
			if seen++; flags.Lookup(name) == nil && (len(name) > 1 || flags.ShorthandLookup(name) == nil) {
				t.Errorf("%s%s: there is no flag %s", prefix, field.Name, name)
			}
		}
	}
	if seen < 25 {
		t.Errorf("only %d fields were looked at", seen)
	}
	err := errors.Join(fmt.Errorf("raise %v", option.MemoryBytes), format.Spec{Type: "u8", RecordSize: 2}.Validate())
	if got, want := errorLine(err), "raise -S; -t u8 and -R 2 cannot be combined: leave one out"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	invalid, ok := errors.AsType[*session.OptionError](err)
	if !ok || invalid.Field != option.Type {
		t.Errorf("the error is about the option %v, want %v", invalid, option.Type)
	}
}

// TestNamesOfFilesStay checks that messages, reports and plans do not change file names that look
// like options.
func TestNamesOfFilesStay(t *testing.T) {
	for field := range flagsOfOptions() {
		name := string(field) + ".bin"
		for _, args := range [][]string{
			{"-t", "u64", name},
			{"-t", "u64", "--stats=json", name},
			{"-t", "u64", "-T", name, "keys"},
			{"-f", "npy", name},
			{"-t", "u64", "-o", name + "/out", name},
			{"plan", "-t", "u64", "--stats=json", name},
		} {
			if _, text := runCommand(t, args...); !strings.Contains(text, name) {
				t.Errorf("%q: the name is not in %q", args, text)
			}
		}
	}

	for _, name := range []string{"Record.Type.bin", "Options.MemoryBytes", "Options.Output", "Record.Keys"} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			testfiles.Write(t, name, make([]byte, 4096))
			code, text := runCommand(t, "-t", "u64", "-c", "--stats=json", name)
			if code != exitDone {
				t.Errorf("check: %s", text)
			}
			code, text = runCommand(t, "plan", "-t", "u64", "-T", ".", "-o", name+".out", name)
			if code != exitDone || !strings.Contains(text, name+".out") {
				t.Errorf("plan: %q", text)
			}
			testfiles.Write(t, name, append([]byte{1}, make([]byte, 15)...))
			code, text = runCommand(t, "-t", "u64", "-c", name)
			if code != exitDisorder || !strings.Contains(text, "extsort: "+name+": record 2 ") {
				t.Errorf("check: %q", text)
			}
			code, text = runCommand(t, "dist", "plan", "--runs", "2", "-t", "u64", "-o", name+".d", name, name+".plan")
			if code != exitDone && !strings.Contains(text, name) {
				t.Errorf("dist plan: %q", text)
			}
		})
	}
}

// runCommand runs the command and returns its exit status and its output.
func runCommand(t *testing.T, args ...string) (code int, text string) {
	t.Helper()
	var out, problems bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &problems)
	return code, out.String() + problems.String()
}
