package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/blockio"
)

// TestPastCache sorts files with direct I/O for input, temporary files and output, as with little
// memory. Records, blocks and the windows of the output are multiples of a page, or are not.
func TestPastCache(t *testing.T) {
	inLittleMemory(t, pastCacheMemory)
	wide := kind{"wider than a window", format.Spec{RecordSize: 300_001, Keys: []string{"7:u64"}}}
	npy := kind{"npy", format.Spec{Format: "npy", Type: "u64"}}
	for _, k := range []kind{kindNamed("u64"), kindNamed("u32be"), kindNamed("gensort"), npy, wide} {
		size := k.layout(t).RecordSize
		for _, n := range []int{0, 1, 4 << 20 / size, 3_333_333 / size} {
			for strategy, order := range pastCacheOrders {
				t.Run(fmt.Sprintf("%s/%d/%s", k.name, n, strategy), func(t *testing.T) {
					t.Parallel()
					sortPastCache(t, k, n, strategy, order)
				})
			}
		}
	}
}

func sortPastCache(t *testing.T, k kind, n int, strategy Strategy, order string) {
	t.Helper()
	header, err := k.spec.NewHeader()
	if err != nil {
		t.Fatal(err)
	}
	data := k.make(t, order, n, seeded(t))
	before := header.Encode(int64(n))
	want := slices.Concat(before, reference(t, header.Layout(), data, Options{}))
	opt := Options{
		Record:      k.spec,
		Inputs:      []string{writeFile(t, slices.Concat(before, data))},
		Strategy:    strategy,
		Verify:      n%2 == 1,
		MemoryBytes: pastCacheMemory,
		Workers:     3,
		Output:      filepath.Join(t.TempDir(), "out"),
		TempDirs:    []string{t.TempDir()},
	}
	opt.faults.chunkRecords = int64(n/5 + 1)
	opt.faults.readBytes = 1e9

	p, err := Plan(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if q := p.Sizes.Queue; n > 1 && !(q.Input && q.Output) {
		t.Fatalf("the queue is %+v", q)
	}
	_, err = Sort(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(opt.Output)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes are written, %d are due; error %v", len(got), len(want), err)
	}
}

// pastCacheOrders contains the strategies that use direct I/O, with suitable data for each.
var pastCacheOrders = map[Strategy]string{MergeRuns: "uniform", Partition: "uniform", Sift: "nearly-sorted"}

// pastCacheMemory is a memory limit with room for a queue of requests.
const pastCacheMemory = 96 << 20

// inLittleMemory simulates a machine whose page cache can hold nothing and whose files are all on a
// disk.
func inLittleMemory(t *testing.T, bytes int64) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
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
				if left := leftIn(t, filepath.Dir(opt.Output)); err == nil || len(left) > 0 {
					t.Errorf("operation %d (%s): error %v, and %q is left", failAt, in.operation(), err, left)
				}
			}
			if in.failAt < 100 {
				t.Errorf("only %d operations", in.failAt)
			}
		})
	}
}

// TestPastCacheCancelled cancels sorts with direct I/O while they read and while they write, so
// that requests are in flight. Each sort returns the cause and leaves nothing behind.
func TestPastCacheCancelled(t *testing.T) {
	inLittleMemory(t, pastCacheMemory)
	const n = 1_000_001
	k, cause := kindNamed("u64"), errors.New("the user has had enough")
	for strategy, order := range pastCacheOrders {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			in := writeFile(t, k.make(t, order, n, seeded(t)))
			for _, at := range []*canceller{{after: 0}, {after: n / 3}, {after: n - 1}, // while it reads, and while it writes
				{stage: 1, after: 0}, {stage: 1, after: n / 3}, {stage: 1, after: n - n/9}} {
				opt := Options{Record: k.spec, Inputs: []string{in}, Strategy: strategy, Workers: 2,
					MemoryBytes: pastCacheMemory, Output: filepath.Join(t.TempDir(), "out"), TempDirs: []string{t.TempDir()}}
				opt.faults.chunkRecords, opt.faults.readBytes = 300_000, 1e9
				ctx, cancel := context.WithCancelCause(context.Background())
				opt.Progress = &canceller{cancel: func() { cancel(cause) }, stage: at.stage, after: 8 * at.after}
				_, err := Sort(ctx, opt)
				if !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled in stage %d after %d records: %v", at.stage, at.after, err)
				}
				if left := append(leftIn(t, filepath.Dir(opt.Output)), leftIn(t, opt.TempDirs[0])...); len(left) > 0 {
					t.Errorf("cancelled in stage %d after %d records: %q is left", at.stage, at.after, left)
				}
			}
		})
	}
}
