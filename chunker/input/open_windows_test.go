package input

import (
	"os"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestOpenFilesCanBeRenamed renames a file while it is open as an input.
func TestOpenFilesCanBeRenamed(t *testing.T) {
	name := testfiles.Temp(t, "keys", nil)
	file, err := openRegular(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name, name+".old"); err != nil {
		t.Errorf("rename of an open input: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}
