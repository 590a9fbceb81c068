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
	"sync"
	"testing"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
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

// TestPasses sorts in chunks that take fewer records than requested, as if memory were slow: inputs
// that fit into one chunk, and larger inputs.
func TestPasses(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for _, name := range []string{"u64", "u32be", "f64", "bytes3", "rec7", "rec12 both", "i128"} {
		k := kindNamed(name)
		size := k.layout(t).RecordSize
		keyer, err := format.NewKeyer(k.layout(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, dist := range []string{"uniform", "few", "zipf", "nearly-sorted", "equal"} {
			data := k.make(t, dist, 3000, r)
			for choice := range 8 {
				opt := Options{Record: k.spec, Unique: choice&1 != 0, Limit: []int64{0, 700}[choice>>1&1]}
				want := reference(t, k.layout(t), data, opt)
				opt.Strategy, opt.Workers, opt.Verify = Reread, 1+r.IntN(3), r.IntN(2) == 0
				opt.Inputs = []string{writeFile(t, data[:700*size]), writeFile(t, data[700*size:])}
				opt = toAny(t, opt, r.IntN(3))
				opt.faults.chunkRecords, opt.faults.blockBytes = []int64{3000, 500}[choice>>2], 50*size
				var mu sync.Mutex
				passes := 0
				opt.faults.wrapDevice = choosing(func(low, high uint64) (uint64, error) {
					mu.Lock()
					defer mu.Unlock()
					passes++
					if most := ^uint64(0) >> (64 - keyer.PrefixBits()); passes < 6 && low < most {
						high = low + (min(high, most)-low)/(2+r.Uint64N(3))
					}
					return high, nil
				})
				report := checkSort(t, k, data, want, opt)
				if report.Strategy == Reread && report.Detail.Chunks != passes {
					t.Errorf("%s: %d passes, and the report has %d chunks", describe(opt), passes, report.Detail.Chunks)
				}
				if dist == "uniform" && (report.Strategy != Reread && opt.Limit == 0 || report.BytesSpilled > 0) {
					t.Errorf("%s: sorted by %s, %d bytes spilled", describe(opt), report.Strategy, report.BytesSpilled)
				}
			}
		}
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
func TestPassesForFew(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	k := kindNamed("u64")
	data := k.make(t, "uniform", 40_000, r)
	opt := Options{Record: k.spec, Limit: 100}
	want := reference(t, k.layout(t), data, opt)
	opt.Strategy, opt.Inputs, opt.Output = Reread, []string{writeFile(t, data)}, filepath.Join(t.TempDir(), "out")
	asked := ^uint64(0)
	opt.faults.wrapDevice = choosing(func(_, high uint64) (uint64, error) {
		asked = high
		return high, nil
	})
	report := checkSort(t, k, data, want, opt)
	if report.Detail.Chunks != 1 || asked > ^uint64(0)/20 {
		t.Errorf("%d passes, the last for keys up to %d", report.Detail.Chunks, asked)
	}
}

// TestPassesForFewDistinct limits the number of distinct keys. The sort loads the number of records
// that it expects to need, and more if these have too few distinct keys.
func TestPassesForFewDistinct(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	k := kindNamed("u64")
	const n = 40_000
	for _, each := range []int{1, 2, 50, n} { // number of records per key
		keys := k.make(t, "uniform", n/each, r)
		data := bytes.Repeat(keys, each)
		for _, limit := range []int64{1, 30, 2000, n} {
			opt := Options{Record: k.spec, Unique: true, Limit: limit}
			want := reference(t, k.layout(t), data, opt)
			opt = toAny(t, opt, r.IntN(3))
			opt.Inputs, opt.Verify, opt.faults.chunkRecords = []string{writeFile(t, data)}, r.IntN(2) == 0, n/2
			if limit == n {
				opt.Strategy = Reread // the planner does not choose passes for a stream
			}
			passes, asked := 0, uint64(0)
			opt.faults.wrapDevice = choosing(func(_, high uint64) (uint64, error) {
				passes, asked = passes+1, high
				return high, nil
			})
			checkSort(t, k, data, want, opt)
			few := limit*int64(each) < n/20
			if most := map[bool]int{true: 2, false: 5}[few]; few && passes < 1 || passes > most ||
				few && each == 1 && asked > ^uint64(0)/4 {
				t.Errorf("%d records of each key, limit %d: %d passes, the last for keys up to %d", each, limit, passes, asked)
			}
		}
	}
}

// TestPassesGreatestKey sorts an input in which half of the records have the greatest possible key.
func TestPassesGreatestKey(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for _, name := range []string{"u32be", "u64", "bytes3", "i128"} {
		k := kindNamed(name)
		size := k.layout(t).RecordSize
		for choice := range 8 {
			opt := Options{Record: k.spec, Unique: choice&1 != 0, Reverse: choice&2 != 0}
			data := k.make(t, "uniform", 3000, r)
			for at := 0; at < len(data); at += 2 * size {
				end := byte(0xff) // the greatest unsigned key; for i128 it is -1, in the middle
				if opt.Reverse {
					end = 0
				}
				copy(data[at:at+size], bytes.Repeat([]byte{end}, size))
			}
			want := reference(t, k.layout(t), data, opt)
			opt.Strategy, opt.Workers, opt.Inputs = Reread, 2, []string{writeFile(t, data)}
			opt.Output = filepath.Join(t.TempDir(), "out")
			opt.faults.chunkRecords, opt.faults.blockBytes = []int64{3000, 1700}[choice>>2], 50*size
			passes := 0
			opt.faults.wrapDevice = choosing(func(low, high uint64) (uint64, error) {
				if passes++; passes > 30 {
					return 0, errors.New("there is no end")
				}
				if passes == 1 {
					high = min(high, ^uint64(0)>>(64-8*min(size, 8))/8)
				}
				return high, nil
			})
			checkSort(t, k, data, want, opt)
		}
	}
}

// TestPassesToAStream writes to a stream in one pass. Several passes must be requested explicitly,
// because the stream may lead back to the input.
func TestPassesToAStream(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	k := kindNamed("u64")
	uniform := k.make(t, "uniform", 40_000, r)
	for _, c := range []struct {
		name string
		data []byte
		opt  Options
		room int64
		want Strategy
		most int // chunks
	}{
		{"many", uniform, Options{}, 10_000, MergeRuns, 9},
		{"many, asked for", uniform, Options{Strategy: Reread}, 10_000, Reread, 9},
		{"many to a compressed file", uniform, Options{Output: "out", Compress: "s2"}, 10_000, Reread, 9},
		{"the first", uniform, Options{Limit: 100}, 10_000, Reread, 1},
		{"the first of what fits", uniform, Options{Limit: 100}, 50_000, Reread, 1},
	} {
		opt := c.opt
		opt.Record, opt.Inputs, opt.Verify = k.spec, []string{writeFile(t, c.data)}, true
		want := reference(t, k.layout(t), c.data, opt)
		if opt.Output != "" {
			opt.Output = filepath.Join(t.TempDir(), opt.Output)
		}
		opt.faults.chunkRecords = c.room
		report := checkSort(t, k, c.data, want, opt)
		if report.Strategy != c.want || report.Detail.Chunks > c.most || (report.BytesSpilled > 0) != (c.want == MergeRuns) {
			t.Errorf("%s: sorted by %s in %d chunks with %d bytes of spill, want %s in %d",
				c.name, report.Strategy, report.Detail.Chunks, report.BytesSpilled, c.want, c.most)
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
			if left := leftIn(t, filepath.Dir(opt.Output)); len(left) > 0 {
				t.Errorf("%s: %q is left", name, left)
			}
		}
	}
}

// TestPassesEnd checks that passes stop at the limit and report the bytes written.
func TestPassesEnd(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	k := kindNamed("u64")
	data := k.make(t, "uniform", 3000, r)
	for _, c := range []struct {
		limit  int64
		unique bool
		passes int // at most
	}{
		{100, false, 1}, {450, false, 2}, {1700, false, 5}, {2999, false, 9}, {3000, false, 9}, {9000, false, 9},
		{0, false, 9}, {100, true, 1}, {1000, true, 4}, {0, true, 9},
	} {
		p := &recorder{}
		opt := Options{Record: k.spec, Limit: c.limit, Unique: c.unique}
		want := reference(t, k.layout(t), data, opt)
		opt = small(opt)
		opt.Strategy, opt.Progress, opt.Inputs, opt.Output = Reread, p, []string{writeFile(t, data)},
			filepath.Join(t.TempDir(), "out")
		report := checkSort(t, k, data, want, opt)
		if report.Detail.Chunks > c.passes {
			t.Errorf("limit %d, unique %t: %d passes, want %d at most", c.limit, c.unique, report.Detail.Chunks, c.passes)
		}
		written := int64(0)
		for i, name := range p.phases {
			if name == plan.StageWrite || name == plan.StagePasses {
				written += report.Detail.Phases[len(report.Detail.Phases)-len(p.phases)+i].Bytes
			}
			if total := p.totals[i]; total >= 0 && p.bytes[i] != total && !c.unique {
				t.Errorf("limit %d: %q announced %d bytes, %d passed", c.limit, name, total, p.bytes[i])
			}
		}
		if written != report.BytesWritten && !c.unique {
			t.Errorf("limit %d: the phases wrote %d bytes, all of it is %d", c.limit, written, report.BytesWritten)
		}
	}
}
