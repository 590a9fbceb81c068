//go:build opencl && cgo && linux

package algo

import (
	"os"
	"testing"

	"github.com/extsort/extsort/device/opencl/cl"
)

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "extsort-opencl")
	if err != nil {
		panic(err)
	}
	if os.Getenv("POCL_CACHE_DIR") == "" {
		os.Setenv("POCL_CACHE_DIR", folder)
	}
	os.Setenv("POCL_MEMORY_LIMIT", "2")
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
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
