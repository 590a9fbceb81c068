package chunker

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestWrittenWhileRead changes a file in its place.
func TestWrittenWhileRead(t *testing.T) {
	name := writeFile(t, numbered(0, 1000))
	d := openData(t, words, []string{name}, nil)
	if _, err := d.Cut(1000); err != nil {
		t.Fatal(err)
	}
	if err := d.Check(noWarning(t)); err != nil {
		t.Errorf("%v before anything changed", err)
	}
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte("x"), 4000); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Minute) // the file system's clock may be coarse
	if err := os.Chtimes(name, later, later); err != nil {
		t.Fatal(err)
	}
	if err := d.Check(noWarning(t)); err == nil || !strings.Contains(err.Error(), name+": ") {
		t.Errorf("after it was written to, the error is: %v", err)
	}
}
