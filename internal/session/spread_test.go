package session

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
)

// onDevices replaces the device with n devices: the real one and copies of it.
func onDevices(opt Options, n int) Options {
	opt.Strategy = Spread
	opt.faults.moreDevices = n - 1
	return opt
}

// unevenDevice is a GPU that can hold only a few records.
type unevenDevice struct {
	device.Device
	records int64
}

func (d *unevenDevice) MaxRecords(device.ChunkOptions, int64) int64 { return d.records }

// TestSpreadUneven spreads records that no device can hold alone over devices of different sizes.
func TestSpreadUneven(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for _, name := range []string{"u64", "gensort"} {
		for _, limits := range [][]int64{{100, 9900}, {9000, 1000}, {5000, 5001}, {0, 10000}, {3000, 3000}} {
			k := kindNamed(name)
			data := k.make(t, "zipf", 10000, r)
			opt := onDevices(Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, Verify: true, MemoryBytes: 64 << 20},
				2)
			opt.Output = writeFile(t, nil)
			devices := 0
			opt.faults.wrapDevice = func(d device.Device) device.Device {
				devices++
				return &unevenDevice{d, max(limits[(devices-1)%2], 1)}
			}
			report, err := Sort(context.Background(), opt)
			if limits[0]+limits[1] < 10000 {
				if err == nil || !strings.HasPrefix(err.Error(), "strategy spread: needs") {
					t.Errorf("%s, %d: error %v where the devices do not hold the data", name, limits, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(opt.Output)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, reference(t, k.layout(t), data, opt)) {
				t.Errorf("%s, %d: wrong order", name, limits)
			}
			if report.Strategy != Spread || report.BytesSpilled > 0 {
				t.Errorf("%s, %d: strategy %s, %d bytes spilled", name, limits, report.Strategy, report.BytesSpilled)
			}
		}
	}
}

// TestSpreadFails makes each step of one device fail. The old output is unchanged.
func TestSpreadFails(t *testing.T) {
	t.Parallel()
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

// TestSpreadFaults fails each operation of a spread in turn.
func TestSpreadFaults(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	k := kindNamed("rec12")
	data := k.make(t, "uniform", 3000, r)
	want := reference(t, k.layout(t), data, Options{})
	for at := int64(0); ; at++ {
		i := &injector{failAt: at}
		opt := Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, Output: writeFile(t, []byte("old")),
			MemoryBytes: 64 << 20}
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
		named := *failed == "sync directory" || *failed == "close output"
		whole := bytes.Equal(got, want) && (err == nil || named) || err != nil && string(got) == "old"
		if !whole {
			t.Fatalf("operation %d (%s): error %v, output %.10q", at, *failed, err, got)
		}
	}
}
