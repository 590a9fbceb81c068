//go:build opencl && cgo && linux

package session

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/internal/sorttest"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestSpreadOnOpenCL opens an OpenCL device several times, and spreads a sort over these and the
// CPU: bare keys and wide records.
func TestSpreadOnOpenCL(t *testing.T) {
	if _, err := opencl.Open(1, opencl.Options{}); err != nil {
		t.Skip(err)
	}
	r := seeded(t)
	for _, name := range []string{"u64", "u32be", "f64", "rec12", "gensort", "wide key"} {
		t.Run(name, func(t *testing.T) {
			k := kindNamed(name)
			data := k.make(t, []string{"uniform", "few", "reversed"}[r.IntN(3)], 100000+r.IntN(9000), r)
			opt := Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, Verify: true, Workers: 4,
				MemoryBytes: 512 << 20} // the devices may share it
			opt.Unique = r.IntN(3) == 0
			opt.Limit = r.Int64N(2) * (1 + r.Int64N(100000))
			want := reference(t, k.layout(t), data, opt)
			opt = onDevices(opt, 2+r.IntN(2))
			opt.faults.blockBytes = r.IntN(2) * 4096
			opt.Output = writeFile(t, nil)
			opened := 0
			opt.faults.wrapDevice = func(processor device.Device) device.Device {
				if opened++; opened == 3 {
					return processor
				}
				d, err := opencl.Open(1, opencl.Options{Algorithm: "count-scan-reorder"})
				return must(t, d, errors.Join(err, processor.Close()))
			}
			report, err := Sort(context.Background(), opt)
			if err != nil {
				t.Fatal(err)
			}
			got := testfiles.Read(t, opt.Output)
			if !bytes.Equal(got, want) || report.Strategy != Spread {
				t.Fatalf("%s: differs from record %d on", report.Strategy,
					sorttest.FirstDifference(got, want, k.layout(t).RecordSize))
			}
		})
	}
}

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
