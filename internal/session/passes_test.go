package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/testfiles"
)

// selectDevice is a device whose chunks have a replaced Select.
type selectDevice struct {
	device.Device
	change func(c device.Chunk) device.Chunk
}

func (d *selectDevice) NewChunk(ctx context.Context, opt device.ChunkOptions) (device.Chunk, error) {
	c, err := d.Device.NewChunk(ctx, opt)
	if err != nil {
		return nil, err
	}
	return d.change(c), nil
}

// selectChunk is a chunk with a replaced Select.
type selectChunk struct {
	device.Chunk
	choose func(low, high uint64) (uint64, error)
}

func (c *selectChunk) Select(ctx context.Context, src device.Source, low, high uint64) (int64, uint64, error) {
	high, err := c.choose(low, high)
	if err != nil {
		return 0, 0, err
	}
	return c.Chunk.Select(ctx, src, low, high)
}

// choosing wraps a device so that choose determines the last prefix that Select loads.
func choosing(choose func(low, high uint64) (uint64, error)) func(device.Device) device.Device {
	return func(d device.Device) device.Device {
		return &selectDevice{d, func(s device.Chunk) device.Chunk { return &selectChunk{s, choose} }}
	}
}

// toAny sets the output to a file, a compressed file or a stream.
func toAny(t *testing.T, opt Options, kind int) Options {
	opt.Output, opt.Compress = filepath.Join(t.TempDir(), "out"), "none"
	switch kind {
	case 1:
		opt.Compress = "s2"
	case 2:
		opt.Output = ""
	}
	return opt
}

// TestPassesOfFewKeys sorts in nearly as many passes as there are different keys. No pass is empty.
func TestPassesOfFewKeys(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	for keys := 4; keys <= 40; keys++ {
		data := make([]byte, 8*3000)
		for i := range 3000 {
			data[8*i] = byte(i%keys) + 1
		}
		opt := Options{Record: k.spec, Strategy: Reread, Inputs: []string{writeFile(t, data)},
			Output: filepath.Join(t.TempDir(), "out")}
		opt.faults.chunkRecords, opt.faults.blockBytes = 1200, 8*50
		report := checkSort(t, k, data, reference(t, k.layout(t), data, opt), opt)
		if report.Strategy != Reread || report.Detail.Chunks > keys || report.Detail.Plan.Chunks < 3 {
			t.Errorf("%d keys by %s in %d passes, %d were planned",
				keys, report.Strategy, report.Detail.Chunks, report.Detail.Plan.Chunks)
		}
	}
}

// TestPassesInVain makes a device refuse to select records, or find more than it can hold. The
// sort falls back to the next strategy. Other errors are returned.
func TestPassesInVain(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	k := kindNamed("u64")
	data := k.make(t, "uniform", 3000, r)
	fault := errors.New("the chunk is broken")
	for _, c := range []struct {
		name   string
		change func(s device.Chunk) device.Chunk
		want   error
	}{
		{"never any", failingPass(0, errors.ErrUnsupported), nil},
		{"too many in the first", failingPass(0, device.ErrTooMany), nil},
		{"too many in a later one", failingPass(2, device.ErrTooMany), nil},
		{"broken at the first", failingPass(0, fault), fault},
		{"broken at a later one", failingPass(2, fault), fault},
	} {
		t.Run(c.name, func(t *testing.T) {
			for choice := range 6 {
				opt := Options{Record: k.spec, Unique: choice&1 != 0}
				want := reference(t, k.layout(t), data, opt)
				opt = toAny(t, small(opt), choice/2)
				opt.Strategy, opt.Verify, opt.Inputs = Reread, r.IntN(2) == 0, []string{writeFile(t, data)}
				opt.faults.wrapDevice = func(d device.Device) device.Device { return &selectDevice{d, c.change} }
				if c.want != nil {
					opt.Stdout = io.Discard
					if _, err := Sort(t.Context(), opt); !errors.Is(err, c.want) {
						t.Errorf("%v, want %v", err, c.want)
					}
					continue
				}
				report := checkSort(t, k, data, want, opt)
				next := report.Detail.Plan.Considered[1]
				if report.Strategy != next.Strategy || report.BytesSpilled == 0 || report.Detail.Chunks != next.Chunks {
					t.Errorf("sorted by %s, %d bytes spilled, %d chunks of %d",
						report.Strategy, report.BytesSpilled, report.Detail.Chunks, next.Chunks)
				}
				changes := report.Detail.Changes
				if len(changes) != 1 || changes[0].Planned != Reread || changes[0].Ran != report.Strategy {
					t.Errorf("the report tells of %v", changes)
				}
			}
		})
	}
}

// failingPass fails in pass number at, from 0.
func failingPass(at int, err error) func(device.Chunk) device.Chunk {
	return func(s device.Chunk) device.Chunk {
		passes := 0
		return &selectChunk{s, func(_, high uint64) (uint64, error) {
			if passes++; passes > at {
				return 0, err
			}
			return high, nil
		}}
	}
}

// TestPassesForFew checks that a sort with a small limit needs one pass and rejects most records.
// With a limit of distinct keys, a second pass may be needed.
func TestPassesForFew(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	k := kindNamed("u64")
	data := k.make(t, "uniform", 40_000, r)
	for _, unique := range []bool{false, true} {
		opt := Options{Record: k.spec, Limit: 100, Unique: unique}
		want := reference(t, k.layout(t), data, opt)
		opt.Strategy, opt.Inputs, opt.Output = Reread, []string{writeFile(t, data)}, filepath.Join(t.TempDir(), "out")
		asked := ^uint64(0)
		opt.faults.wrapDevice = choosing(func(_, high uint64) (uint64, error) {
			asked = high
			return high, nil
		})
		report := checkSort(t, k, data, want, opt)
		if most := map[bool]int{false: 1, true: 2}[unique]; report.Detail.Chunks > most || asked > ^uint64(0)/20 {
			t.Errorf("unique %t: %d passes, the last for keys up to %d", unique, report.Detail.Chunks, asked)
		}
	}
}

// TestPassesChanged changes the input between two passes. The sort fails, unless the input only
// grew.
func TestPassesChanged(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	k := kindNamed("u64")
	for _, many := range []bool{false, true} {
		for name, change := range map[string]func(file string, data []byte) error{
			"two keys change": func(file string, data []byte) error {
				clear(data[:8])
				copy(data[8:], bytes.Repeat([]byte{0xff}, 8))
				return os.WriteFile(file, data, 0o644)
			},
			"shorter": func(file string, _ []byte) error { return os.Truncate(file, 8000) },
			"longer":  func(file string, data []byte) error { return os.WriteFile(file, append(data, data...), 0o644) },
		} {
			data := k.make(t, "uniform", 3000, r)
			opt := small(Options{Record: k.spec, Strategy: Reread, Inputs: []string{writeFile(t, data)},
				Output: filepath.Join(t.TempDir(), "out")})
			// With this many files, their descriptors are closed.
			if many {
				for range 600 {
					opt.Inputs = append(opt.Inputs, writeFile(t, nil))
				}
			}
			past := time.Now().Add(-time.Hour)
			if err := os.Chtimes(opt.Inputs[0], past, past); err != nil {
				t.Fatal(err)
			}
			passes := 0
			opt.faults.wrapDevice = choosing(func(_, high uint64) (uint64, error) {
				if passes++; passes == 3 {
					if err := change(opt.Inputs[0], data); err != nil {
						t.Error(err)
					}
				}
				return high, nil
			})
			warning, want := "", reference(t, k.layout(t), data, Options{})
			opt.Warn = func(message string) { warning = message }
			_, err := Sort(t.Context(), opt)
			if name == "longer" { // only the original bytes are sorted
				got, failed := os.ReadFile(opt.Output)
				if err != nil || failed != nil || !bytes.Equal(got, want) || !strings.Contains(warning, opt.Inputs[0]) {
					t.Errorf("longer: error %v, warning %q, equal: %t", err, warning, bytes.Equal(got, want))
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), opt.Inputs[0]) {
				t.Errorf("%s: %v", name, err)
			}
			if left := testfiles.Names(t, filepath.Dir(opt.Output)); len(left) > 0 {
				t.Errorf("%s: %q is left", name, left)
			}
		}
	}
}
