package main

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/format"
)

// TestFieldsToFlags: the fields are those of the library, and an error has flags in their place.
func TestFieldsToFlags(t *testing.T) {
	kinds := map[string]reflect.Type{
		"Options": reflect.TypeFor[extsort.Options](), "Record": reflect.TypeFor[format.Spec](),
	}
	for name := range flagOf {
		kind, field, _ := strings.Cut(name, ".")
		if _, ok := kinds[kind].FieldByName(field); !ok {
			t.Errorf("there is no field %s", name)
		}
	}
	err := errors.Join(errors.New("raise Options.MemoryBytes"), format.Spec{Type: "u8", RecordSize: 2}.Validate())
	if got, want := errorLine(err), "raise -S; -t u8 and -R 2 exclude each other: leave one out"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
