package input

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestManyInputsAreMapped keeps no more files open than MaxOpen, compressed or not.
func TestManyInputsAreMapped(t *testing.T) {
	for _, c := range []format.Compression{format.None, format.Zstd} {
		name := filepath.Join(t.TempDir(), "in")
		if err := os.WriteFile(name, compressed(t, make([]byte, 80), c), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{MaxOpen, MaxOpen + 1} {
			names := slices.Repeat([]string{name}, n)
			inputs, err := Open(t.Context(), Kind{Spec: format.Spec{Type: "u64"}}, Named(names...), nil, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range inputs {
				if mapped := in.file.file == nil; mapped != (n > MaxOpen) {
					t.Errorf("%d inputs: mapped is %t", n, mapped)
				}
				if all, err := io.ReadAll(in.Sequence()); err != nil || len(all) != 80 {
					t.Errorf("%d inputs, %v: %d bytes, error %v", n, c, len(all), err)
				}
			}
			if err := joinErrors(inputs, (*Input).Close); err != nil {
				t.Error(err)
			}
		}
	}
}

func compressed(t *testing.T, data []byte, c format.Compression) []byte {
	t.Helper()
	var all bytes.Buffer
	w, err := format.NewWriter(&all, c, 1)
	if err == nil {
		_, err = w.Write(data)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}
