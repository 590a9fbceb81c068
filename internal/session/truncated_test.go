package session

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// A cutSource calls cut after its first read.
type cutSource struct {
	device.Source
	cut func()
}

func (c *cutSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	first, n, err := c.Source.Next(max, place)
	c.cut()
	return first, n, err
}

// A cutWriter calls cut before its first write.
type cutWriter struct {
	io.Writer
	cut func()
}

func (c *cutWriter) Write(p []byte) (int, error) {
	c.cut()
	return c.Writer.Write(p)
}

// TestTruncatedInput truncates an input while a strategy, a merge or a check reads it. The file is
// mapped, so the system signals a fault in the thread that reads. The call returns an error that
// names the file and the place, and leaves no output.
func TestTruncatedInput(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be truncated there")
	}
	const records = 1 << 19
	k := kindNamed("u64")
	for name, c := range map[string]struct {
		dist     string
		strategy Strategy // the strategy that must run; "": none
		chunk    int64    // records of a chunk; 0: everything
		packed   bool
		opt      Options
		run      func(context.Context, Options) (*Report, error)
	}{
		"in core":        {dist: "uniform", strategy: InCore},
		"merge":          {dist: "uniform", strategy: MergeRuns, chunk: records / 4},
		"partition":      {dist: "uniform", strategy: Partition, chunk: records / 4},
		"reread":         {dist: "uniform", strategy: Reread, chunk: records / 4},
		"sift":           {dist: "nearly-sorted", strategy: Sift, chunk: records / 4},
		"tally":          {dist: "few", strategy: Tally, chunk: records / 4},
		"copy":           {dist: "sorted", strategy: Copy},
		"spread":         {dist: "uniform", strategy: Spread, opt: onDevices(Options{}, 2)},
		"shuffle":        {dist: "uniform", opt: Options{Shuffle: true}},
		"compressed":     {dist: "uniform", packed: true},
		"merge of files": {dist: "sorted", run: mergeAs},
		"check": {dist: "sorted", run: func(ctx context.Context, opt Options) (*Report, error) {
			_, err := Check(ctx, checkOptions(opt))
			return nil, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			data := k.make(t, c.dist, records, seeded(t))
			if c.packed {
				data = formattest.Compress(t, data, format.Zstd)
			}
			file := writeFile(t, data)
			cut := sync.OnceFunc(func() {
				if err := os.Truncate(file, 2*int64(os.Getpagesize())); err != nil {
					t.Error(err)
				}
			})

			opt := c.opt
			opt.Record, opt.Inputs, opt.TempDirs = k.spec, []string{file}, []string{t.TempDir()}
			opt.Workers = 2
			opt.faults.chunkRecords, opt.faults.blockBytes = c.chunk, 16<<10
			switch name {
			case "merge of files":
				opt.Stdout = &cutWriter{io.Discard, cut}
			case "check":
			default:
				if c.strategy != InCore && c.strategy != Copy { // these two cannot be requested
					opt.Strategy = c.strategy
				}
				p, err := Plan(t.Context(), opt)
				if err != nil {
					t.Fatal(err)
				}
				if c.strategy != "" && p.Strategy != c.strategy {
					t.Fatalf("the strategy is %s", p.Strategy)
				}
				opt.Output = filepath.Join(t.TempDir(), "out")
			}
			opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset {
				return chunker.Wrapped(d, func(src device.Source, _ int64) device.Source { return &cutSource{src, cut} })
			}

			run := Sort
			if c.run != nil {
				run = c.run
			}
			_, err := run(t.Context(), opt)
			if err == nil || !strings.Contains(err.Error(), file+" at byte ") ||
				!strings.Contains(err.Error(), "the file became shorter") {
				t.Errorf("the error is: %v", err)
			}
			if _, err := os.Stat(opt.Output); opt.Output != "" && !errors.Is(err, os.ErrNotExist) {
				t.Error("an output is left:", err)
			}
		})
	}
}
