package main

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/format"
)

// TestFieldsToFlags: the fields of the library are flags, but for those that only a program has, and an error has flags
// in their place.
func TestFieldsToFlags(t *testing.T) {
	programs := " Inputs Sources Stdin Record Stdout Sink SplitFiles SplitBytes Shuffle Seed Progress Verified " +
		"Warn Logger "
	flags := (&app{}).sortCommand().Flags()
	seen := 0
	for prefix, kind := range map[string]reflect.Type{
		"Options.": reflect.TypeFor[extsort.Options](), "Record.": reflect.TypeFor[format.Spec](),
	} {
		for _, field := range reflect.VisibleFields(kind) {
			if !field.IsExported() || strings.Contains(programs, " "+field.Name+" ") {
				continue
			}
			name := strings.TrimLeft(flagFor(prefix+field.Name), "-")
			if seen++; flags.Lookup(name) == nil && (len(name) > 1 || flags.ShorthandLookup(name) == nil) {
				t.Errorf("%s%s: there is no flag %s", prefix, field.Name, name)
			}
		}
	}
	if seen < 25 {
		t.Errorf("only %d fields were looked at", seen)
	}
	err := errors.Join(errors.New("raise Options.MemoryBytes"), format.Spec{Type: "u8", RecordSize: 2}.Validate())
	if got, want := errorLine(err), "raise -S; -t u8 and -R 2 exclude each other: leave one out"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
