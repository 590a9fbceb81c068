//go:build opencl && cgo && linux

package tune

import (
	"os"
	"testing"
	"time"

	"github.com/extsort/extsort/device/bench"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/device/opencl"
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

// TestOnADevice tunes a device and stores the result. A device opened with it must have the
// measured rates.
func TestOnADevice(t *testing.T) {
	list, err := opencl.Devices()
	if err != nil {
		t.Skip("no OpenCL device to test on: ", err)
	}
	bed, err := bench.NewResident(list[0])
	if err != nil {
		t.Fatal(err)
	}
	defer bed.Close()
	found, err := Search(t.Context(), bed, Options{Budget: 3 * time.Second, Records: 1 << 10, Keys: []opencl.KeyKind{u64}})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Sorts) != 3 || found.LinkRate <= 0 || found.SortRate <= 0 {
		t.Fatalf("found %+v", found)
	}
	if _, err := opencl.SaveTuning(list[0], found); err != nil {
		t.Fatal(err)
	}
	d, err := opencl.Open(1, opencl.Options{Tuning: opencl.LoadTuning(list[0])})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if info := d.Info(); info.LinkRate != found.LinkRate || info.SortRate != found.SortRate {
		t.Errorf("opened with %+v, found %+v", info, found)
	}
}
