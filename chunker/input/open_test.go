package input

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/testfiles"
)

// openTyped opens files of bare values of a type.
func openTyped(t *testing.T, typ string, names ...string) []*Input {
	t.Helper()
	inputs, err := Open(t.Context(), Kind{Spec: format.Spec{Type: typ}}, Named(names...), nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return inputs
}

// TestManyInputsAreClosed keeps the descriptors of no more files open than MaxOpen, compressed or
// not.
func TestManyInputsAreClosed(t *testing.T) {
	for _, c := range []format.Compression{format.None, format.Zstd} {
		name := filepath.Join(t.TempDir(), "in")
		testfiles.Write(t, name, formattest.Compress(t, make([]byte, 80), c))
		for _, n := range []int{1, MaxOpen, MaxOpen + 1} {
			names := slices.Repeat([]string{name}, n)
			inputs := openTyped(t, "u64", names...)
			for _, in := range inputs {
				if closed := !in.origin.(*localFile).isOpen(); closed != (n > MaxOpen) {
					t.Errorf("%d inputs: closed is %t", n, closed)
				}
				if c == format.None && !isMapped(in) {
					t.Errorf("%d inputs: one is not mapped", n)
				}
				if all, err := io.ReadAll(in.Sequence()); err != nil || len(all) != 80 {
					t.Errorf("%d inputs, %v: %d bytes, error %v", n, c, len(all), err)
				}
				if whole := in.WholeRecords(); whole != 10 {
					t.Errorf("%d inputs, %v: %d records in all", n, c, whole)
				}
			}
			if err := joinErrors(inputs, (*Input).Close); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSourceOfNoSize refuses sources whose size is negative, or larger than what can be read.
func TestSourceOfNoSize(t *testing.T) {
	for size, says := range map[int64]string{-1: "must not be negative", 8: "read short"} {
		source := Source{Name: "short", At: bytes.NewReader(make([]byte, 7)), Size: size}
		_, err := Open(t.Context(), Kind{Spec: format.Spec{Type: "u64"}}, []Source{source}, nil, 1<<20)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("size %d: %v", size, err)
		}
	}
}

// TestTailOfFile skips a tail of any length, and keeps no more than MaxKept bytes.
func TestTailOfFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	testfiles.Write(t, name, make([]byte, 80+MaxKept+1))
	for tail, most := range map[int64]bool{MaxKept + 1: false, MaxKept - 7: true} {
		for _, keep := range []bool{false, true} {
			kind := Kind{Spec: format.Spec{Type: "u64"}, Frame: Frame{Tail: tail, Keep: keep}}
			inputs, err := Open(t.Context(), kind, Named(name), nil, 1<<20)
			if keep && !most {
				if err == nil {
					t.Errorf("a tail of %d bytes was kept", tail)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := (80 + MaxKept + 1 - tail) / 8; inputs[0].Records != want {
				t.Errorf("%d records, want %d", inputs[0].Records, want)
			}
			kept, _ := inputs[0].KeptTail()
			if isKept := len(kept) > 0; isKept != keep || isKept && int64(len(kept)) != tail {
				t.Errorf("%d bytes of %d are kept, keep is %t", len(kept), tail, keep)
			}
			if err := inputs[0].Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestClosedDecoder checks that an input closes its decompressor, which then returns no more bytes, although its source
// stays open.
func TestClosedDecoder(t *testing.T) {
	packed := formattest.Compress(t, make([]byte, 8<<20), format.Zstd)
	source := Source{Name: "bytes", At: bytes.NewReader(packed), Size: int64(len(packed))}
	inputs, err := Open(t.Context(), Kind{Spec: format.Spec{Type: "u64"}}, []Source{source}, nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	decoder := inputs[0].decoder.(io.Reader)
	if _, err := inputs[0].Sequence().Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if err := inputs[0].Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, decoder); err == nil {
		t.Errorf("a closed decompressor returned %d bytes", n)
	}
}

// TestMoreThanAddresses opens inputs that have more bytes together than a process has addresses.
// The first of them are mapped, and the last is not.
func TestMoreThanAddresses(t *testing.T) {
	const size = 8 << 40
	name := filepath.Join(t.TempDir(), "in")
	err := os.WriteFile(name, nil, 0o600)
	if err == nil {
		err = os.Truncate(name, size)
	}
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no such sparse files here:", err)
	}
	names := slices.Repeat([]string{name}, MaxOpen+1)
	inputs := openTyped(t, "u64", names...)
	mapped := int64(0)
	for i, in := range inputs {
		if isMapped(in) {
			mapped += size
		} else if !in.origin.(*localFile).isOpen() {
			t.Errorf("input %d is neither mapped nor open", i)
		}
	}
	if mapped > mappableBytes() || isMapped(inputs[MaxOpen]) {
		t.Errorf("%d bytes are mapped, the limit is %d", mapped, mappableBytes())
	}
	last := inputs[MaxOpen].at
	if n, err := last.ReadAt(make([]byte, 8), size-8); n != 8 || err != nil {
		t.Errorf("%d bytes, error %v", n, err)
	}
	if err := joinErrors(inputs, (*Input).Close); err != nil {
		t.Error(err)
	}
}

// TestOnlyLocalFilesCanChange checks that an input without a file is accepted as unchanged, and
// that a file is not.
func TestOnlyLocalFilesCanChange(t *testing.T) {
	name := filepath.Join(t.TempDir(), "in")
	testfiles.Write(t, name, make([]byte, 80))
	sources := []Source{
		{Name: "bytes", At: bytes.NewReader(make([]byte, 80)), Size: 80},
		{Name: name},
	}
	inputs, err := Open(t.Context(), Kind{Spec: format.Spec{Type: "u64"}}, sources, nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	testfiles.Write(t, name, make([]byte, 88))
	now, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range inputs {
		if changed := in.CheckUnchanged(now) != nil; changed != (i == 1) {
			t.Errorf("%s: changed is %t", sources[i].Name, changed)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}
