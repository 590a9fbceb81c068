//go:build unix

package chunker

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/format/formattest"
)

// TestFIFO reads a named pipe between two files: it cannot be read twice, nor looked into before.
func TestFIFO(t *testing.T) {
	all := formattest.Numbered(0, 9000)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	written := make(chan error)
	go func() { written <- os.WriteFile(fifo, all[800:60000], 0) }()
	d := openData(t, words, []string{writeFile(t, all[:800]), fifo, writeFile(t, all[60000:])}, nil)
	if sample, err := d.Sample(t.Context(), formattest.Keyer(t, words), 200); err != nil ||
		!slices.Equal(sample.Prefixes, prefixesOf(t, all[:1600])) {
		t.Errorf("the first 200 records: %d keys, error %v", len(sample.Prefixes), err)
	}
	got, err := readByCut(d, 8, 2500, 100, 2)
	if err != nil || !bytes.Equal(got, all) {
		t.Errorf("%d of %d bytes, error %v", len(got), len(all), err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
