package session

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/sorttest"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestPastCache runs rows with direct I/O for input, temporary files and output, as with little memory.
func TestPastCache(t *testing.T) {
	inLittleMemory(t, pastCacheMemory)
	runner := sorttest.Runner{Sort: sortRow, Seed: *seedFlag, Update: *update}
	runner.Run(t, filepath.Join("..", "..", "testdata", "sort", "direct", "*.txt"))
}

// pastCacheOrders contains the strategies that use direct I/O, with suitable data for each.
var pastCacheOrders = map[Strategy]string{MergeRuns: "uniform", Partition: "uniform", Sift: "nearly-sorted"}

// pastCacheMemory is a memory limit with room for a queue of requests.
const pastCacheMemory = 96 << 20

// inLittleMemory simulates a machine whose page cache can hold nothing and whose files are all on a
// disk.
func inLittleMemory(t *testing.T, bytes int64) {
	t.Helper()
	file := testfiles.Create(t, filepath.Join(t.TempDir(), "file"))
	direct := blockio.Direct(file, os.O_RDWR)
	if direct == nil {
		t.Skip("this file system does not tell that files can be read and written past the page cache")
	}
	direct.Close()
	memory, onDisk := systemMemory, isOnDisk
	t.Cleanup(func() { systemMemory, isOnDisk = memory, onDisk })
	systemMemory, isOnDisk = func() int64 { return bytes }, func(string) bool { return true }
}

// TestPastCacheFails fails writes of an output with direct I/O at various places. No part of the
// output is left.
func TestPastCacheFails(t *testing.T) {
	inLittleMemory(t, pastCacheMemory)
	k := kindNamed("u64")
	for strategy, order := range pastCacheOrders {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			input := writeFile(t, k.make(t, order, 2_100_001, seeded(t)))
			in := &injector{failAt: -1}
			for failAt := int64(0); ; failAt = failAt*2 + 1 {
				in = &injector{failAt: failAt}
				opt := Options{Record: k.spec, Inputs: []string{input}, Strategy: strategy, Workers: 2,
					MemoryBytes: pastCacheMemory, Output: filepath.Join(t.TempDir(), "out"), TempDirs: []string{t.TempDir()}}
				opt.faults.output, opt.faults.chunkRecords, opt.faults.readBytes = in.step, 300_000, 1e9
				_, err := Sort(t.Context(), opt)
				if in.failed.Load() == nil {
					break
				}
				if left := testfiles.Names(t, filepath.Dir(opt.Output)); err == nil || len(left) > 0 {
					t.Errorf("operation %d (%s): error %v, and %q is left", failAt, in.operation(), err, left)
				}
			}
			if in.failAt < 100 {
				t.Errorf("only %d operations", in.failAt)
			}
		})
	}
}
