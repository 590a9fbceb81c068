package session

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestInPlaceWithoutRoom sorts two inputs into one of them on a small file system. If the output
// does not fit, the sort fails before it overwrites the first byte.
func TestInPlaceWithoutRoom(t *testing.T) {
	k := kindNamed("u64")
	larger := k.make(t, "uniform", 70_000, seeded(t))
	smaller := k.make(t, "sorted", 20_000, seeded(t))
	unique := Options{Unique: true, Count: true}
	for _, c := range []struct {
		name   string
		opt    Options
		others int // bytes of another file
		inputs [][]byte
		fits   bool
	}{
		{"full", Options{}, 0, [][]byte{larger, smaller}, false},
		{"limited", Options{Limit: 30_000}, 0, [][]byte{larger, smaller}, true},
		{"with counts", unique, 150_000, [][]byte{larger}, false},
		{"with room for counts", unique, 0, [][]byte{smaller}, true},
		{"with room for two", Options{}, 0, [][]byte{smaller, smaller}, true},
		{"with a gap", Options{}, 200_000, [][]byte{larger, nil}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			if err := unix.Mount("none", folder, "tmpfs", 0, "size=1m"); err != nil {
				t.Skip("no mount of one's own here:", err)
			}
			defer unix.Unmount(folder, unix.MNT_DETACH)
			testfiles.Write(t, filepath.Join(folder, "others"), make([]byte, c.others))
			opt := c.opt
			opt.Record = format.Spec{Type: "u64"}
			opt.TempDirs = []string{t.TempDir()}
			opt.Inputs = nil
			for i, data := range c.inputs {
				name := filepath.Join(folder, string(rune('a'+i)))
				testfiles.Write(t, name, data)
				opt.Inputs = append(opt.Inputs, name)
			}
			elsewhere := opt
			elsewhere.Output = filepath.Join(t.TempDir(), "out")
			if _, err := Sort(t.Context(), elsewhere); err != nil {
				t.Fatal(err)
			}
			want := testfiles.Read(t, elsewhere.Output)
			file := opt.Inputs[len(opt.Inputs)-1]
			old := c.inputs[len(c.inputs)-1]
			if c.name == "with a gap" {
				if err := os.Truncate(file, int64(len(larger))); err != nil {
					t.Fatal(err)
				}
				old = make([]byte, len(larger))
			}
			f := testfiles.Open(t, file, os.O_RDWR)
			opt.Stdout = f
			_, err := Sort(t.Context(), opt)
			f.Close()
			got := testfiles.Read(t, file)
			if !c.fits {
				if !errors.Is(err, unix.ENOSPC) || !bytes.Equal(got, old) {
					t.Errorf("the file has %d bytes, error: %v", len(got), err)
				}
				return
			}
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("the file has %d bytes, %d expected, error: %v", len(got), len(want), err)
			}
		})
	}
}
