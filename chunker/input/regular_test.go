package input

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// openFiles opens a file of n u64, which count from 0 on.
func openFiles(t *testing.T, n int) (f *Files, name string, recs []byte) {
	t.Helper()
	for i := range n {
		recs = binary.LittleEndian.AppendUint64(recs, uint64(i))
	}
	name = filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, recs, 0o600); err != nil {
		t.Fatal(err)
	}
	inputs, err := Open(t.Context(), Kind{Spec: format.Spec{Type: "u64"}}, Named(name), nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	f = NewFiles(inputs)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, name, recs
}

// mapWhole maps the file of f.
func mapWhole(t *testing.T, f *Files) {
	t.Helper()
	if err := f.inputs[0].at.mapWhole(); err != nil {
		t.Fatal(err)
	}
}

// TestMapWhole reads the file that was opened through a map, even if another file has taken its
// name.
func TestMapWhole(t *testing.T) {
	f, name, recs := openFiles(t, 100_000)
	if runtime.GOOS == "linux" {
		if err := errors.Join(os.Remove(name), os.WriteFile(name, []byte("another"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	mapWhole(t, f)
	got := make([]byte, len(recs)/2)
	if err := f.ReadRecords(got, 1000); err != nil || !bytes.Equal(got, recs[8000:][:len(got)]) {
		t.Errorf("other records came: %v", err)
	}
}

// noWarning fails a test that is warned.
func noWarning(t *testing.T) func(string) {
	return func(message string) { t.Errorf("there is a warning: %s", message) }
}

// TestMapOfShorterFile cuts a file while it is mapped: an error with its name and the offset.
func TestMapOfShorterFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut there")
	}
	f, name, _ := openFiles(t, 100_000)
	mapWhole(t, f)
	p := make([]byte, 8000)
	if err := f.ReadRecords(p, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 4096); err != nil {
		t.Fatal(err)
	}
	if err := f.ReadRecords(p, 50_000); !errors.Is(err, errFault) ||
		!strings.Contains(err.Error(), name+" at byte 400000: ") {
		t.Errorf("the error is: %v", err)
	}
	if err := f.Check(noWarning(t)); err == nil || !strings.Contains(err.Error(), "800000 bytes before, 4096 now") {
		t.Errorf("Check: %v", err)
	}
}

// faultAt is a fault of an address, as the runtime has it.
type faultAt uintptr

func (f faultAt) Addr() uintptr { return uintptr(f) }

// TestMapFault takes only faults of the map for errors.
func TestMapFault(t *testing.T) {
	p := make([]byte, 1<<20) // so large that it stays where it is
	start := uintptr(unsafe.Pointer(unsafe.SliceData(p)))
	for name, c := range map[string]struct {
		fault any
		ours  bool
	}{
		"the map":           {faultAt(start + 1<<20), true},
		"where it goes":     {faultAt(start + 1<<20 - 1), false},
		"another panic":     {"index out of range", false},
		"before it":         {faultAt(start - 1), true},
		"its first byte":    {faultAt(start), false},
		"an error of sorts": {errors.New("boom"), false},
	} {
		func() {
			defer func() {
				if panicked := recover() != nil; panicked == c.ours {
					t.Errorf("%s: panicked is %t", name, panicked)
				}
			}()
			err := device.Guard(func() error { panic(c.fault) }, func(at uintptr) error { return mapFault(at, p) })
			if err != errFault {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
}
