package output

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func makeFIFO(t *testing.T, _ string) { t.Skip("no FIFOs in the file system") }

// TestReplaceable opens an output while another program has the old file open. Windows could not
// replace it at the end, so Open refuses it.
func TestReplaceable(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys")
	other, err := os.Create(name) // does not share its removal
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(context.Background(), name, FileOptions{})
	if err == nil || !strings.Contains(err.Error(), "close it") {
		t.Errorf("a file in use: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := Open(context.Background(), name, FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(context.Background(), 0); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
