package input

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// openFiles opens a file that contains the numbers from 0 to n-1 as u64.
func openFiles(t *testing.T, n int) (f *Files, name string, recs []byte) {
	t.Helper()
	for i := range n {
		recs = binary.LittleEndian.AppendUint64(recs, uint64(i))
	}
	name = filepath.Join(t.TempDir(), "in")
	testfiles.Write(t, name, recs)
	inputs := openTyped(t, "u64", name)
	f = NewFiles(inputs)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, name, recs
}

// isMapped reports whether an input is read through a memory map.
func isMapped(in *Input) bool {
	_, mapped := in.at.source.(*mappedFile)
	return mapped
}

// useCalls makes an input that has been opened be read with system calls.
func useCalls(t *testing.T, in *Input) {
	t.Helper()
	mapped, ok := in.at.source.(*mappedFile)
	if !ok {
		t.Fatal("the input is not mapped")
	}
	if err := mapped.Close(); err != nil {
		t.Fatal(err)
	}
	in.at.source = in.origin.(*localFile).file
}

// useMap makes an input that has been opened be read through a map.
func useMap(t *testing.T, in *Input) {
	t.Helper()
	file := in.origin.(*localFile)
	mapped, err := mapFile(file.file, file.openedInfo)
	if err != nil {
		t.Fatal(err)
	}
	in.at.source = mapped
}

// TestMapOfRemovedFile maps the file that was opened, even if another file has taken its name.
func TestMapOfRemovedFile(t *testing.T) {
	f, name, recs := openFiles(t, 100_000)
	in := f.inputs[0].origin.(*localFile)
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be removed there")
	}
	if err := errors.Join(os.Remove(name), os.WriteFile(name, []byte("another"), 0o600)); err != nil {
		t.Fatal(err)
	}
	pages, err := mapFile(in.file, in.openedInfo)
	if runtime.GOOS != "linux" {
		if err == nil {
			t.Error("another file was mapped")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	another, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mapFile(in.file, another); !errors.Is(err, errNotSameFile) {
		t.Errorf("with the properties of another file: %v", err)
	}
	for way, r := range map[string]io.ReaderAt{"opened": f.inputs[0].at, "mapped again": pages} {
		got := make([]byte, len(recs)/2)
		if _, err := r.ReadAt(got, 8000); err != nil || !bytes.Equal(got, recs[8000:][:len(got)]) {
			t.Errorf("%s: other records came: %v", way, err)
		}
	}
	if err := pages.Close(); err != nil {
		t.Error(err)
	}
}

// TestSlowMaps opens a large file in the page cache. If maps are slow, it is read with system calls,
// and still counts as cached.
func TestSlowMaps(t *testing.T) {
	recs := make([]byte, leastTried)
	recs[leastTried-8] = 1
	name := testfiles.Temp(t, "in", recs)
	for _, slow := range []bool{false, true} {
		o := &opener{keepsOpen: true, mappable: leastTried, windowBytes: 1 << 20, triedMap: true, slowMaps: slow}
		in, err := o.openInput(t.Context(), Kind{Spec: format.Spec{Type: "u64"}}, Source{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if isMapped(in) == slow || !in.IsCached() {
			t.Errorf("slow maps %v: mapped %v, cached %v", slow, isMapped(in), in.IsCached())
		}
		if left := o.mappable; slow != (left == leastTried) {
			t.Errorf("slow maps %v: %d bytes may still be mapped", slow, left)
		}
		got := make([]byte, 8)
		if err := in.ReadRecords(got, leastTried/8-1); err != nil || got[0] != 1 {
			t.Errorf("slow maps %v: read %v, %v", slow, got, err)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFilesAreMapped checks which inputs are mapped: regular files, as far as the address space
// allows. Remote objects, pipes and other readers never are.
func TestFilesAreMapped(t *testing.T) {
	_, name, recs := openFiles(t, 1000)
	opened := func(s Source, mappable int64) *Input {
		t.Helper()
		o := &opener{keepsOpen: true, mappable: mappable, windowBytes: 1 << 20}
		in, err := o.openInput(t.Context(), Kind{Spec: format.Spec{Type: "u64"}}, s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		})
		return in
	}
	file := testfiles.Open(t, name, os.O_RDONLY)
	for way, c := range map[string]struct {
		source   Source
		mappable int64
		want     bool
	}{
		"file":             {Source{Name: name}, 1 << 20, true},
		"file that fits":   {Source{Name: name}, 8000, true},
		"file too large":   {Source{Name: name}, 7999, false},
		"open file":        {Source{Reader: file}, 1 << 20, true},
		"reader at offset": {Source{At: file, Size: 8000}, 1 << 20, false},
	} {
		in := opened(c.source, c.mappable)
		if isMapped(in) != c.want {
			t.Errorf("%s: mapped is %t", way, !c.want)
		}
		if got, err := io.ReadAll(in.Sequence()); err != nil || !bytes.Equal(got, recs) {
			t.Errorf("%s: %d bytes, %v", way, len(got), err)
		}
	}
}

// noWarning returns a function that fails the test when it is called.
func noWarning(t *testing.T) func(string) {
	return func(message string) { t.Errorf("there is a warning: %s", message) }
}

// TestShorterFile truncates a file after it was opened. The error must contain its name and the
// offset, whether the file is mapped or not.
func TestShorterFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be truncated there")
	}
	for way, want := range map[string]error{"mapped": errFault, "by calls": errShorter} {
		f, name, _ := openFiles(t, 100_000)
		if way == "by calls" {
			useCalls(t, f.inputs[0])
		}
		p := make([]byte, 8000)
		if err := f.ReadRecords(p, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, 4096); err != nil {
			t.Fatal(err)
		}
		if err := f.ReadRecords(p, 50_000); !errors.Is(err, want) ||
			!strings.Contains(err.Error(), name+" at byte 400000: ") {
			t.Errorf("%s: the error is: %v", way, err)
		}
		if err := f.Check(noWarning(t)); err == nil || !strings.Contains(err.Error(), "800000 bytes before, 4096 now") {
			t.Errorf("%s: Check: %v", way, err)
		}
	}
}

// faultAt is a memory fault at an address, as the runtime reports it.
type faultAt uintptr

func (f faultAt) Addr() uintptr { return uintptr(f) }

// TestMapFault checks that only memory faults of the map become errors.
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
			err := device.CatchFault(func() error { panic(c.fault) }, func(at uintptr) error { return mapFault(at, p) })
			if err != errFault {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
}
