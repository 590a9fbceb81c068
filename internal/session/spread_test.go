package session

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/testfiles"
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
			got := testfiles.Read(t, opt.Output)
			if !bytes.Equal(got, reference(t, k.layout(t), data, opt)) {
				t.Errorf("%s, %d: wrong order", name, limits)
			}
			if report.Strategy != Spread || report.BytesSpilled > 0 {
				t.Errorf("%s, %d: strategy %s, %d bytes spilled", name, limits, report.Strategy, report.BytesSpilled)
			}
		}
	}
}
