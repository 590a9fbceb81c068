//go:build opencl && cgo && linux

package algo

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/extsort/extsort/device/opencl/cl"
)

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "extsort-opencl")
	if err != nil {
		panic(err)
	}
	os.Setenv("POCL_CACHE_DIR", folder)
	os.Setenv("POCL_MEMORY_LIMIT", "2")
	os.Setenv("XDG_CACHE_HOME", folder)
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// openDevice opens the first device and a queue on it, or skips the test.
func openDevice(t testing.TB) (*cl.Context, *cl.Queue) {
	platforms, err := cl.Platforms()
	if err != nil {
		t.Skip("no OpenCL device to test on: ", err)
	}
	var devices []*cl.Device
	for _, p := range platforms {
		devices = append(devices, p.Devices...)
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

func TestReferenceSortsPairsStably(t *testing.T) {
	ctx, q := openDevice(t)
	s, err := New(ctx, ctx.Device(), "reference", Params{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const n = 10_007
	keys, values := make([]byte, 8*n), make([]byte, 4*n)
	order := make([]uint32, n)
	for i := range n {
		binary.NativeEndian.PutUint64(keys[8*i:], rand.Uint64()>>(rand.UintN(60)))
		binary.NativeEndian.PutUint32(values[4*i:], uint32(i))
		order[i] = uint32(i)
	}
	key := func(i uint32) uint64 { return binary.NativeEndian.Uint64(keys[8*i:]) >> 3 & (1<<50 - 1) }
	slices.SortStableFunc(order, func(a, b uint32) int {
		return int(min(1, key(a)-min(key(a), key(b)))) - int(min(1, key(b)-min(key(a), key(b))))
	})
	d := &Data{N: n, KeyBits: 64, WordBytes: 8}
	for _, b := range []**cl.Buffer{&d.Keys, &d.KeysTmp, &d.Values, &d.ValuesTmp} {
		if *b, err = ctx.NewBuffer(8 * n); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Upload(d.Keys, 0, keys); err != nil {
		t.Fatal(err)
	}
	if err := q.Upload(d.Values, 0, values); err != nil {
		t.Fatal(err)
	}
	if err := s.Sort(q, d, 3, 53); err != nil {
		t.Fatal(err)
	}
	if err := q.Download(values, d.Values, 0); err != nil {
		t.Fatal(err)
	}
	for i, want := range order {
		if got := binary.NativeEndian.Uint32(values[4*i:]); got != want {
			t.Fatalf("value %d is %d, want %d", i, got, want)
		}
	}
}
