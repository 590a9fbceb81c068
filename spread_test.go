package extsort

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
)

// several devices in place of one: the first is the real one, of which others are made beside it.
func onDevices(opt Options, n int) Options {
	opt.Strategy = Spread
	opt.faults.moreDevices = n - 1
	return opt
}

// TestSpread sorts every kind of record in every distribution on several devices at once.
func TestSpread(t *testing.T) {
	r := seeded(t)
	for _, k := range kinds {
		for _, dist := range []string{"uniform", "few", "equal", "sorted", "reversed", "zipf"} {
			for _, devices := range []int{2, 3} {
				t.Run(fmt.Sprintf("%s/%s/%d", k.name, dist, devices), func(t *testing.T) {
					data := k.make(t, dist, 1+r.IntN(9000), r)
					opt := Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, Verify: true, Workers: 1 + r.IntN(4), MemoryBytes: 64 << 20}
					opt.Reverse, opt.Unique = r.IntN(3) == 0, r.IntN(4) == 0
					if r.IntN(4) == 0 {
						opt.Limit = 1 + r.Int64N(2000)
					}
					want := reference(t, k.layout(t), data, opt)
					opt = onDevices(opt, devices)
					opt.Output = writeFile(t, nil)
					report, err := Sort(context.Background(), opt)
					if err != nil {
						t.Fatal(err)
					}
					if report.Strategy != Spread || report.BytesSpilled > 0 {
						t.Errorf("strategy %s, %d bytes were spilled", report.Strategy, report.BytesSpilled)
					}
					got, err := os.ReadFile(opt.Output)
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(got, want) {
						t.Fatalf("differs from record %d on", firstDifference(got, want, k.layout(t).RecordSize))
					}
				})
			}
		}
	}
}

// misledDataset has a sample of its first records only.
type misledDataset struct{ chunker.Dataset }

func (m *misledDataset) Sample(n int) ([]byte, error) {
	sample, err := m.Dataset.Sample(1 << 20)
	size := len(sample) / max(int(m.Dataset.Records()), 1)
	return sample[:len(sample)/20/size*size], err
}

// TestSpreadMisled sorts otherwise when the sample has hidden how many records one device would get: here it shows the
// smallest keys alone, among which all devices are shared.
func TestSpreadMisled(t *testing.T) {
	r := seeded(t)
	for _, name := range []string{"u64", "gensort"} {
		k := kindNamed(name)
		data := k.make(t, "sorted", 20000, r)
		size := k.layout(t).RecordSize
		copy(data[len(data)-size:], data[:size]) // or it would be copied
		opt := onDevices(Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, Verify: true, MemoryBytes: 64 << 20}, 2)
		opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset { return &misledDataset{d} }
		opt.faults.chunkRecords = 15000
		opt.Output = writeFile(t, nil)
		report, err := Sort(context.Background(), opt)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(opt.Output)
		if err != nil {
			t.Fatal(err)
		}
		if want := reference(t, k.layout(t), data, opt); !bytes.Equal(got, want) {
			t.Errorf("%s: differs from record %d on", name, firstDifference(got, want, size))
		}
		if report.Strategy == Spread {
			t.Errorf("%s: strategy %s", name, report.Strategy)
		}
	}
}

// TestSpreadOfStream sorts a stream otherwise.
func TestSpreadOfStream(t *testing.T) {
	r := seeded(t)
	k := kindNamed("u64")
	data := k.make(t, "uniform", 3000, r)
	opt := onDevices(Options{Record: k.spec, Stdin: bytes.NewBuffer(data), MemoryBytes: 64 << 20}, 2)
	var got bytes.Buffer
	opt.Stdout = &got
	if _, err := Sort(context.Background(), opt); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), reference(t, k.layout(t), data, opt)) {
		t.Error("differs")
	}
}

// TestSpreadFails lets each step of one device fail, and leaves the old output alone.
func TestSpreadFails(t *testing.T) {
	r := seeded(t)
	k := kindNamed("gensort")
	data := k.make(t, "uniform", 30000, r)
	for _, step := range []string{"allocate", "load", "sort", "store"} {
		t.Run(step, func(t *testing.T) {
			opt := onDevices(Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, MemoryBytes: 64 << 20}, 3)
			opt.Output = writeFile(t, []byte("old"))
			devices := 0
			opt.faults.wrapDevice = func(d device.Device) device.Device {
				if devices++; devices != 2 {
					return d
				}
				return &brokenGPU{cpu.New(), step, errInjected}
			}
			_, err := Sort(context.Background(), opt)
			if got, _ := os.ReadFile(opt.Output); !errors.Is(err, errInjected) || string(got) != "old" {
				t.Errorf("error %v, output %.10q", err, got)
			}
		})
	}
}

// TestSpreadFaults fails every operation of a spread in its turn.
func TestSpreadFaults(t *testing.T) {
	r := seeded(t)
	k := kindNamed("rec12")
	data := k.make(t, "uniform", 3000, r)
	want := reference(t, k.layout(t), data, Options{})
	for at := int64(0); ; at++ {
		i := &injector{failAt: at}
		opt := Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, Output: writeFile(t, []byte("old")), MemoryBytes: 64 << 20}
		opt.faults = i.faults(true)
		_, err := Sort(context.Background(), onDevices(opt, 2))
		got, readErr := os.ReadFile(opt.Output)
		if readErr != nil {
			t.Fatal(readErr)
		}
		failed := i.failed.Load()
		if failed == nil {
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("without a fault: %v, output is right: %t", err, bytes.Equal(got, want))
			}
			return
		}
		if err == nil && !bytes.Equal(got, want) || err != nil && string(got) != "old" && *failed != "sync folder" {
			t.Fatalf("operation %d (%s): error %v, output %.10q", at, *failed, err, got)
		}
	}
}

// TestSpreadCancelled ends with the context.
func TestSpreadCancelled(t *testing.T) {
	r := seeded(t)
	k := kindNamed("u64")
	data := k.make(t, "uniform", 50000, r)
	ctx, cancel := context.WithCancel(context.Background())
	opt := onDevices(Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, Output: writeFile(t, []byte("old")), MemoryBytes: 64 << 20}, 2)
	opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset {
		return &watchDataset{Dataset: d, size: 8, seen: func([]byte) { cancel() }}
	}
	_, err := Sort(ctx, opt)
	if got, _ := os.ReadFile(opt.Output); !errors.Is(err, context.Canceled) || string(got) != "old" {
		t.Errorf("error %v, output %.10q", err, got)
	}
}

// TestSpreadIsPlanned plans for two GPUs: they share what is large enough, whatever it costs; a stream they cannot.
func TestSpreadIsPlanned(t *testing.T) {
	p := planner{
		work:  work{records: 1 << 31, size: 8, bare: true, workers: 32, gpus: &gpuRates{2, 1e11, 4e11}},
		rates: defaultRates, records: 1 << 31, capacity: 1 << 32, fanIn: 16, spreads: true, gpus: true,
	}
	if c := p.weigh(Auto)[0]; c.Strategy != Spread {
		t.Errorf("%s is planned", c.Strategy)
	}
	p.spreads = false
	if c := p.weigh(Auto)[0]; c.Strategy != InCore {
		t.Errorf("%s is planned where the devices cannot share", c.Strategy)
	}
	p.spreads, p.ordered = true, true
	if c := p.weigh(Auto)[0]; c.Strategy != Copy {
		t.Errorf("%s is planned for what is in order", c.Strategy)
	}
}
