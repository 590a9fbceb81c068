package input

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
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

// TestMoreThanAddresses opens inputs that have more bytes together than a process has addresses.
func TestMoreThanAddresses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	err := os.WriteFile(name, nil, 0o600)
	if err == nil {
		err = os.Truncate(name, 8<<40)
	}
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no such sparse files here:", err)
	}
	names := slices.Repeat([]string{name}, MaxOpen+1)
	inputs, err := Open(t.Context(), Kind{Spec: format.Spec{Type: "u64"}}, Named(names...), nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	last := inputs[MaxOpen]
	if n, err := last.file.ReadAt(make([]byte, 8), 8<<40-8); n != 8 || err != nil || last.file.file == nil {
		t.Errorf("%d bytes, error %v, open: %t", n, err, last.file.file != nil)
	}
	if err := joinErrors(inputs, (*Input).Close); err != nil {
		t.Error(err)
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
