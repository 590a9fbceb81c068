//go:build opencl && cgo && linux

package algo

import (
	"os"
	"testing"

	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/device/opencl/cl"
)

func TestMain(m *testing.M) {
	devicetest.UsePoCL("2")
	os.Exit(m.Run())
}

// openDevice opens the first device and a queue on it, or skips the test.
func openDevice(t testing.TB) (*cl.Context, *cl.Queue) {
	devices, err := cl.Devices()
	if err != nil {
		t.Skip("no OpenCL device to test on: ", err)
	}
	if *deviceFor >= len(devices) {
		t.Fatalf("-device %d: there are %d", *deviceFor, len(devices))
	}
	ctx, err := cl.NewContext(devices[*deviceFor])
	if err != nil {
		t.Fatal(err)
	}
	q, err := ctx.NewQueue()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Release(); ctx.Release() })
	return ctx, q
}
