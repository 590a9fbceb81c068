package extsort

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// selectDevice has chunks that select otherwise.
type selectDevice struct {
	device.Device
	change func(c device.Selector) device.Chunk
}

func (d *selectDevice) NewChunk(ctx context.Context, opt device.ChunkOptions) (device.Chunk, error) {
	c, err := d.Device.NewChunk(ctx, opt)
	if err != nil {
		return nil, err
	}
	if s, ok := c.(device.Selector); ok {
		return d.change(s), nil
	}
	return c, nil
}

// selectChunk is a chunk that selects otherwise.
type selectChunk struct {
	device.Selector
	choose func(low, high uint64) (uint64, error)
}

func (c *selectChunk) Select(ctx context.Context, src device.Source, low, high uint64) (int64, uint64, error) {
	high, err := c.choose(low, high)
	if err != nil {
		return 0, 0, err
	}
	return c.Selector.Select(ctx, src, low, high)
}

// TestPasses has chunks that take less than they are asked to, as those do that find memory slow: of what fits one chunk, and of what
// does not.
func TestPasses(t *testing.T) {
	r := seeded(t)
	for _, name := range []string{"u64", "u8", "f64", "bytes3", "rec7", "rec12 both", "i128"} {
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
				opt.Inputs, opt.Output = []string{writeFile(t, data[:700*size]), writeFile(t, data[700*size:])}, filepath.Join(t.TempDir(), "out")
				opt.faults.chunkRecords, opt.faults.blockBytes = []int64{3000, 500}[choice>>2], 50*size
				var mu sync.Mutex
				passes := 0
				opt.faults.wrapDevice = func(d device.Device) device.Device {
					return &selectDevice{d, func(c device.Selector) device.Chunk {
						return &selectChunk{c, func(low, high uint64) (uint64, error) {
							mu.Lock()
							defer mu.Unlock()
							passes++
							if most := ^uint64(0) >> (64 - keyer.PrefixBits()); passes < 6 && low < most {
								high = low + (min(high, most)-low)/(2+r.Uint64N(3))
							}
							return high, nil
						}}
					}}
				}
				report := checkSort(t, k, data, want, opt)
				if report.Strategy == Reread && report.Chunks != passes {
					t.Errorf("%s: %d passes, and the report has %d chunks", describe(opt), passes, report.Chunks)
				}
				if dist == "uniform" && (report.Strategy != Reread && opt.Limit == 0 || report.BytesSpilled > 0) {
					t.Errorf("%s: sorted by %s, %d bytes spilled", describe(opt), report.Strategy, report.BytesSpilled)
				}
			}
		}
	}
}

// TestPassesInVain begins again in another way where a pass finds that it cannot hold what it must, or that chunks take all or
// nothing. Errors are errors.
func TestPassesInVain(t *testing.T) {
	r := seeded(t)
	k := kindNamed("u64")
	data := k.make(t, "uniform", 3000, r)
	fault := errors.New("the chunk is broken")
	for _, c := range []struct {
		name   string
		change func(s device.Selector) device.Chunk
		want   error
	}{
		{"never any", func(s device.Selector) device.Chunk { return struct{ device.Chunk }{s} }, nil},
		{"too many in the first", failingPass(0, device.ErrTooMany), nil},
		{"too many in a later one", failingPass(2, device.ErrTooMany), nil},
		{"broken at the first", failingPass(0, fault), fault},
		{"broken at a later one", failingPass(2, fault), fault},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, unique := range []bool{false, true} {
				opt := Options{Record: k.spec, Unique: unique}
				want := reference(t, k.layout(t), data, opt)
				opt = small(opt)
				opt.Strategy, opt.Verify, opt.Inputs = Reread, r.IntN(2) == 0, []string{writeFile(t, data)}
				opt.Output = filepath.Join(t.TempDir(), "out")
				opt.faults.wrapDevice = func(d device.Device) device.Device { return &selectDevice{d, c.change} }
				if c.want != nil {
					if _, err := Sort(t.Context(), opt); !errors.Is(err, c.want) {
						t.Errorf("%v, want %v", err, c.want)
					}
					continue
				}
				if report := checkSort(t, k, data, want, opt); report.Strategy == Reread || report.BytesSpilled == 0 {
					t.Errorf("sorted by %s, %d bytes spilled", report.Strategy, report.BytesSpilled)
				}
			}
		})
	}
}

// failingPass fails in pass number at, from 0.
func failingPass(at int, err error) func(device.Selector) device.Chunk {
	return func(s device.Selector) device.Chunk {
		passes := 0
		return &selectChunk{s, func(_, high uint64) (uint64, error) {
			if passes++; passes > at {
				return 0, err
			}
			return high, nil
		}}
	}
}

// TestPassesForFew reads no more than a pass, and keeps next to nothing, where few records are wanted.
func TestPassesForFew(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	k := kindNamed("u64")
	data := k.make(t, "uniform", 40_000, r)
	opt := Options{Record: k.spec, Limit: 100}
	want := reference(t, k.layout(t), data, opt)
	opt.Strategy, opt.Inputs, opt.Output = Reread, []string{writeFile(t, data)}, filepath.Join(t.TempDir(), "out")
	asked := ^uint64(0)
	opt.faults.wrapDevice = func(d device.Device) device.Device {
		return &selectDevice{d, func(s device.Selector) device.Chunk {
			return &selectChunk{s, func(_, high uint64) (uint64, error) {
				asked = high
				return high, nil
			}}
		}}
	}
	report := checkSort(t, k, data, want, opt)
	if report.Chunks != 1 || asked > ^uint64(0)/20 {
		t.Errorf("%d passes, the last for keys up to %d", report.Chunks, asked)
	}
}
