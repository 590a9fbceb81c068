package output

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/device/arena"
)

// notedFile notes what is written, and fails write number failAt.
type notedFile struct {
	File
	mu     sync.Mutex
	writes [][2]int64 // offset, bytes
	failAt int        // counted from 1; 0: none
	plain  bool       // it has no use for huge pages
}

func (f *notedFile) LikesHugePages() bool { return !f.plain }

func (f *notedFile) WriteAt(p []byte, offset int64) (int, error) {
	f.mu.Lock()
	f.writes = append(f.writes, [2]int64{offset, int64(len(p))})
	failed := len(f.writes) == f.failAt
	f.mu.Unlock()
	if failed {
		return 0, errInjected
	}
	return f.File.WriteAt(p, offset)
}

func openNoted(t *testing.T, name string) (*Output, *notedFile) {
	t.Helper()
	out, err := Open(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := &notedFile{File: out.file}
	out.file = file
	return out, file
}

// writePieces writes data from offset on, in pieces of random lengths that several workers take in order.
func writePieces(out *Output, data []byte, offset int64, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 1))
	var ends []int
	for at := 0; at < len(data); ends = append(ends, at) {
		longest := 1 << (10 + r.IntN(13)) // some of several huge pages, some small
		at = min(at+1+r.IntN(longest), len(data))
	}
	var next atomic.Int64
	errs := make([]error, 3)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(ends) && errs[i] == nil; n = int(next.Add(1)) - 1 {
				from := 0
				if n > 0 {
					from = ends[n-1]
				}
				_, errs[i] = out.WriteAt(data[from:ends[n]], offset+int64(from))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func TestAssemble(t *testing.T) {
	data := make([]byte, 9*arena.HugePage+12345)
	rand.NewChaCha8([32]byte{1}).Read(data)
	for name, c := range map[string]struct {
		header int64
		memory int64
		whole  bool // all huge pages are to be written whole, but for the first and the last
		plain  bool
	}{
		"enough memory":      {0, AssemblyBytes(8), true, false},
		"behind a header":    {64, AssemblyBytes(8), true, false},
		"behind much":        {arena.HugePage - 1, AssemblyBytes(8), true, false},
		"one page of memory": {64, arena.HugePage, false, false},
		"no memory":          {64, 0, false, false},
		"no use":             {64, AssemblyBytes(8), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			target := filepath.Join(t.TempDir(), "out")
			out, file := openNoted(t, target)
			file.plain = c.plain
			for seed := range uint64(5) {
				file.writes = file.writes[:0]
				if err := out.Assemble(c.memory, func() error { return writePieces(out, data, c.header, seed) }); err != nil {
					t.Fatal(err)
				}
				if c.whole {
					checkWhole(t, file.writes, c.header+int64(len(data)))
				}
			}
			header := bytes.Repeat([]byte{7}, int(c.header))
			if _, err := out.WriteAt(header, 0); err != nil {
				t.Fatal(err)
			}
			out.file = file.File
			if err := out.Commit(c.header + int64(len(data))); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(target)
			if err != nil || !bytes.Equal(got, append(header, data...)) {
				t.Errorf("%d bytes are read back (%v), not the %d that were written", len(got), err, len(header)+len(data))
			}
		})
	}
}

// checkWhole expects writes of whole huge pages, but for the first and the last.
func checkWhole(t *testing.T, writes [][2]int64, end int64) {
	t.Helper()
	pieces := 0
	for _, w := range writes {
		if w[0]%arena.HugePage == 0 && w[1]%arena.HugePage == 0 {
			continue
		}
		if pieces++; w[0] >= arena.HugePage && w[0]+w[1] != end {
			t.Errorf("%d bytes are written at %d", w[1], w[0])
		}
	}
	if pieces > 2 {
		t.Errorf("%d of %d writes are pieces", pieces, len(writes))
	}
}

func TestAssembleReportsFaults(t *testing.T) {
	data := make([]byte, 3*arena.HugePage+1000)
	for failAt := 1; ; failAt++ {
		out, file := openNoted(t, filepath.Join(t.TempDir(), "out"))
		file.failAt = failAt
		err := out.Assemble(AssemblyBytes(3), func() error { return writePieces(out, data, 8, 1) })
		failed := len(file.writes) >= failAt
		if failed != errors.Is(err, errInjected) {
			t.Errorf("write %d fails: %v", failAt, err)
		}
		out.file = file.File
		if err := out.Abort(); err != nil {
			t.Error(err)
		}
		if !failed {
			if failAt < 4 {
				t.Errorf("there are %d writes", failAt-1)
			}
			break
		}
	}
	out, _ := openNoted(t, filepath.Join(t.TempDir(), "out"))
	defer out.Abort()
	err := out.Assemble(AssemblyBytes(1), func() error {
		_, err := out.WriteAt(data[:1000], 0)
		if err == nil {
			_, err = out.WriteAt(data[:1000], 1001)
		}
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a byte that nobody wrote: %v", err)
	}
}
