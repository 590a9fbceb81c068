//go:build unix

package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// TestMapsWholeInputs leaves records where they lie only if a chunk has all of them, and the page cache.
func TestMapsWholeInputs(t *testing.T) {
	const size, n = 100, 1000
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, make([]byte, n*size), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		first  int64 // records of the first source
		mayMap int64
		want   bool
	}{
		{n, n * size, true},
		{2 * n, n * size, true},
		{n, n*size - 1, false},
		{n - 1, n * size, false},
	} {
		inputs, err := input.Open(t.Context(), input.Kind{Spec: format.Spec{RecordSize: size}}, []string{name}, nil, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		in, err := NewInput(inputs, &Meter{}, InputOptions{MaxMap: func() int64 { return c.mayMap }})
		if err != nil {
			t.Fatal(err)
		}
		data := in.Data
		src, err := data.Cut(c.first)
		if err != nil {
			t.Fatal(err)
		}
		m, err := src.(device.Mapped).Map()
		if err != nil || (m != nil) != c.want {
			t.Errorf("a source of %d records of %d, %d bytes may be mapped: mapped is %t, error %v",
				src.Records(), n, c.mayMap, m != nil, err)
		}
		if m != nil {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := data.Close(); err != nil {
			t.Error(err)
		}
	}
}
