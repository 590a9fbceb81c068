package profile

import (
	"math"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
)

// TypicalSort is a typical sort: from a file to a file, on the CPU, with a given size and memory
// limit.
type TypicalSort struct {
	Name                string
	spec                format.Spec
	bytes, memory, read int64 // read is the speed of a trial read of the input in bytes/s
}

// TypicalSorts are typical sorts. Their plans show the difference between two profiles.
var TypicalSorts = []TypicalSort{
	{"1 GiB of u64 in 4 GiB of memory", format.Spec{Type: "u64"}, 1 << 30, 4 << 30, 8e9},
	{"1 GiB of u64 in 256 MiB, cached", format.Spec{Type: "u64"}, 1 << 30, 256 << 20, 8e9},
	{"64 GiB of u64 in 4 GiB, from a disk", format.Spec{Type: "u64"}, 64 << 30, 4 << 30, 1e9},
	{
		"64 GiB of gensort in 4 GiB, from a disk",
		format.Spec{Format: "gensort"},
		64 << 30,
		4 << 30,
		1e9,
	},
}

// Plan returns the plan of the sort with a profile and the given number of workers.
func (u TypicalSort) Plan(p *plan.Profile, workers int) (*plan.Plan, error) {
	header, err := u.spec.NewHeader()
	if err != nil {
		return nil, err
	}
	keyer, err := format.NewKeyer(header.Layout())
	if err != nil {
		return nil, err
	}
	f := &plan.Facts{
		Keyer:    keyer,
		Records:  u.bytes / int64(header.Layout().RecordSize),
		Seekable: true,
		ReadRate: float64(u.read),
		Memory:   2 * u.memory,
		Request: plan.Request{
			Strategy:    plan.Auto,
			MemoryBytes: u.memory,
			Workers:     workers,
			SpillCodec:  "auto",
		},
		Output: plan.Output{File: true, OnDisk: true},
		Spill: plan.Spill{
			Dirs:   []string{"spill"},
			OnDisk: true,
			Free:   math.MaxInt64,
		},
	}
	f.Sample = chunker.RandomSample(keyer, f.Records, plan.SampleKeys)
	f.Sample.Enough = true
	chunks := device.ChunkOptions{Keyer: f.Keyer, Sample: f.Sample.Prefixes}
	f.Devices = []plan.Device{engine.Describe(cpu.New(), chunks)}
	return plan.Choose(f, p)
}
