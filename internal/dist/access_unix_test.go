//go:build unix

package dist

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestOneFileKeepsAccess replaces a file that only its owner may read. Others must not be able to
// read the new file, nor an incomplete one. The name is a symbolic link, which must remain.
func TestOneFileKeepsAccess(t *testing.T) {
	var file, link string
	c := newCluster(t, numbers, "uniform", 1000, func(r *Request) {
		link = r.Output
		file = filepath.Join(filepath.Dir(link), "out-file")
		testfiles.Write(t, file, []byte("old"))
		if err := os.Symlink("out-file", link); err != nil {
			t.Fatal(err)
		}
		r.OneFile = true
		r.Parts = 2
	})
	mode := func(name string) fs.FileMode {
		t.Helper()
		info, err := os.Lstat(name)
		c.ok(err)
		return info.Mode()
	}
	c.ok(os.Chmod(file, 0o640))
	c.ok(os.Remove(c.Plan.partialName()))
	c.ok(c.Plan.makePartial())
	if got := mode(c.Plan.partialName()); got != 0o640 {
		t.Errorf("before it has its name the output has mode %v", got)
	}

	c.ok(os.Chmod(file, 0o600)) // while the sort is in progress
	c.all(1)
	if got := mode(file); got != 0o600 {
		t.Errorf("the output has mode %v", got)
	}
	if got := mode(link); got&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v", got)
	}
	if !bytes.Equal(testfiles.Read(t, file), c.want) {
		t.Error("the output has other records")
	}
}

// TestNamesThatAreNotUTF8 sorts files in directories whose names cannot be JSON strings.
func TestNamesThatAreNotUTF8(t *testing.T) {
	for _, oneFile := range []bool{false, true} {
		c := newCluster(t, numbers, "uniform", 1000, func(r *Request) {
			folder := filepath.Dir(r.Output)
			name := filepath.Join(folder, "a\xff.bin")
			if err := os.Rename(r.Inputs[0], name); err != nil {
				t.Skipf("the file system has no such names: %v", err)
			}
			r.Inputs[0] = name
			r.Output = filepath.Join(folder, "out\xfe")
			r.OneFile = oneFile
		})
		if c.Plan.Inputs[0].Name != c.req.Inputs[0] || c.Plan.Output != c.req.Output {
			t.Fatalf("the plan has %q to %q", c.Plan.Inputs[0].Name, c.Plan.Output)
		}
		c.all(2)
		var got bytes.Buffer
		c.ok(c.Plan.Cat(t.Context(), &got))
		if !bytes.Equal(got.Bytes(), c.want) {
			t.Errorf("one file %t: the output is another one", oneFile)
		}
		if _, err := os.Lstat(c.req.Output); err != nil {
			t.Error(err)
		}
	}
}
