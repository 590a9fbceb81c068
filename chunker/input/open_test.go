package input

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestManyInputsAreMapped keeps no more files open than MaxOpen.
func TestManyInputsAreMapped(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, make([]byte, 80), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{MaxOpen, MaxOpen + 1} {
		inputs, err := Open(t.Context(), Kind{Spec: format.Spec{Type: "u64"}}, slices.Repeat([]string{name}, n), nil, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range inputs {
			if mapped := in.at.file == nil; mapped != (n > MaxOpen) {
				t.Errorf("%d inputs: mapped is %t", n, mapped)
			}
		}
		if err := joinErrors(inputs, (*Input).Close); err != nil {
			t.Error(err)
		}
	}
}
