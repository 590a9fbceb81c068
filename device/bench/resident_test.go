//go:build opencl && cgo && linux

package bench

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/format"
)

// TestMain keeps stored measurements apart from those of the user.
func TestMain(m *testing.M) {
	devicetest.UsePoCL("4")
	folder, err := os.MkdirTemp("", "extsort-test")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", folder)
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// open opens the first OpenCL device, or skips the test.
func open(t *testing.T) *Resident {
	t.Helper()
	list, err := opencl.Devices()
	if err != nil {
		t.Skip("no OpenCL device to test on: ", err)
	}
	bed, err := NewResident(list[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed
}

func TestResidentTimesEveryAlgorithm(t *testing.T) {
	bed := open(t)
	for _, key := range []opencl.KeyKind{keys32, {WordBytes: 8, Values: true}} {
		for _, name := range bed.Info().Algorithms {
			timing, err := bed.Time(context.Background(), Case{Algorithm: name, Key: key, Dist: "few", Records: 300}, 2)
			if err != nil || len(timing.Seconds) != 2 || timing.Seconds[0] <= 0 || timing.Seconds[1] <= 0 {
				t.Errorf("%s, %s: %+v, %v", name, key, timing, err)
			}
		}
	}
}

func TestResidentSortsEveryDistribution(t *testing.T) {
	bed := open(t)
	for _, dist := range format.Distributions {
		for _, n := range []int64{1, 2, 1000} {
			c := Case{Algorithm: "onesweep", Key: opencl.KeyKind{WordBytes: 8, Values: true}, Dist: dist, Records: n}
			if _, err := bed.Time(context.Background(), c, 1); err != nil {
				t.Errorf("%s, %d keys: %v", dist, n, err)
			}
		}
	}
}

func TestViewsOnADevice(t *testing.T) {
	bed := open(t)
	for _, v := range Views[2:] { // the first two views use all algorithms, which were tested above
		cases, err := v.Cases(bed.Info(), Scope{Min: 256, Max: 256})
		if err != nil {
			t.Fatal(err)
		}
		results, err := Run(context.Background(), bed, cases[:min(len(cases), 2)], Options{Runs: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Rate <= 0 {
				t.Errorf("%s: %s has no rate: %s%s", v.Name, r.Label, r.Error, r.Skipped)
			}
		}
	}
}

func TestResidentRefusesImpossibleCases(t *testing.T) {
	bed := open(t)
	for name, c := range map[string]Case{
		"parameters": {Algorithm: "binning", Params: algo.Params{DigitBits: 3}, Dist: "uniform", Records: 10},
		"size":       {Algorithm: "onesweep", Dist: "uniform", Records: 1 << 40},
		"algorithm":  {Algorithm: "bogosort", Dist: "uniform", Records: 10},
	} {
		c.Key = keys32
		if _, err := bed.Time(context.Background(), c, 1); !errors.Is(err, ErrCannot) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLinkRate(t *testing.T) {
	if rate, err := open(t).LinkRate(); err != nil || rate < 1e6 {
		t.Errorf("%g bytes/s, %v", rate, err)
	}
}

func TestNoSuchDevice(t *testing.T) {
	open(t)
	if _, err := NewResident(device.Info{Index: 99}); err == nil {
		t.Error("device 99 was opened")
	}
}
