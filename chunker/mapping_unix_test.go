//go:build unix

package chunker

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// mapOf maps the records of a source; nil: they cannot be mapped.
func mapOf(t *testing.T, src device.Source) []byte {
	t.Helper()
	mapped, ok := src.(device.Mapped)
	if !ok {
		return nil
	}
	m, err := mapped.Map()
	if err != nil {
		t.Fatal(err)
	}
	if m == nil {
		return nil
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m.Bytes()
}

// TestMapRecords maps the first and the last records of every kind of input.
func TestMapRecords(t *testing.T) {
	const n, first = 5000, 3100
	all := numbered(0, n)
	half := len(all) / 2
	for name, c := range map[string]struct {
		data   Dataset
		mapped [2]bool // whether the first records and the others can be
	}{
		"file": {openData(t, words, []string{writeFile(t, all)}, nil), [2]bool{true, true}},
		"npy": {openData(t, format.Spec{Format: "npy"}, []string{writeFile(t, npyFile(t, all))}, nil),
			[2]bool{true, true}},
		"redirected": {openData(t, words, nil, openedAt(t, all, 24)), [2]bool{true, true}},
		"two files": {openData(t, words, []string{writeFile(t, all[:half]), writeFile(t, all[half:])}, nil),
			[2]bool{false, true}},
		"pipe":       {openData(t, words, nil, pipeOf(t, all)), [2]bool{}},
		"compressed": {openData(t, words, []string{writeFile(t, pack(t, all, format.Gzip))}, nil), [2]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, want := range [][]byte{all[:8*first], all[8*first:]} {
				src, err := c.data.Cut(first)
				if err != nil {
					t.Fatal(err)
				}
				if got := mapOf(t, src); (got != nil) != c.mapped[i] || got != nil && !bytes.Equal(got, want) {
					t.Errorf("part %d: %d of %d bytes are mapped", i, len(got), len(want))
				}
				if got, err := readSource(src, 8, 700, 1); err != nil || !bytes.Equal(got, want) {
					t.Errorf("part %d: %d of %d bytes are read, error %v", i, len(got), len(want), err)
				}
			}
		})
	}
}

// TestWrittenWhileMapped changes a file in its place, be it mapped or read.
func TestWrittenWhileMapped(t *testing.T) {
	for _, mapped := range []bool{false, true} {
		name := writeFile(t, numbered(0, 1000))
		d := openData(t, words, []string{name}, nil)
		src, err := d.Cut(1000)
		if err != nil {
			t.Fatal(err)
		}
		if mapped && mapOf(t, src) == nil {
			t.Fatal("it is not mapped")
		}
		if err := d.Check(noWarning(t)); err != nil {
			t.Errorf("mapped is %t: %v before anything changed", mapped, err)
		}
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteAt([]byte("x"), 4000); err != nil {
			t.Fatal(err)
		}
		later := time.Now().Add(time.Minute) // the file system's clock may stand still between the two
		if err := os.Chtimes(name, later, later); err != nil {
			t.Fatal(err)
		}
		if err := d.Check(noWarning(t)); err == nil || !strings.Contains(err.Error(), name+": ") {
			t.Errorf("mapped is %t: after it was written to, the error is: %v", mapped, err)
		}
	}
}

// TestMappingFault says which byte of the file cannot be read.
func TestMappingFault(t *testing.T) {
	name := writeFile(t, npyFile(t, numbered(0, 5000)))
	d := openData(t, format.Spec{Format: "npy"}, []string{name}, nil)
	if _, err := d.Cut(1000); err != nil {
		t.Fatal(err)
	}
	src, err := d.Cut(4000)
	if err != nil {
		t.Fatal(err)
	}
	m, err := src.(device.Mapped).Map()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const headerBytes = 128
	if err := m.Fault(80); err == nil || !strings.Contains(err.Error(), name+" at byte 8208: ") {
		t.Errorf("record 10 of those after 1000 of 8 bytes, behind %d bytes: %v", headerBytes, err)
	}
}
