package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/format"
)

// brokenGPU is a device whose chunks fail at one step, as a GPU does that runs out of memory or
// falls off the bus.
type brokenGPU struct {
	device.Device
	step string
	err  error
}

func (b *brokenGPU) Info() device.Info {
	info := b.Device.Info()
	info.Kind, info.Name = device.GPU, "broken GPU"
	info.Host, info.Automatic = false, true
	return info
}

func (b *brokenGPU) NewChunk(ctx context.Context, opt device.ChunkOptions) (device.Chunk, error) {
	if b.step == "allocate" {
		return nil, b.err
	}
	opt.MemoryBytes = 0
	chunk, err := b.Device.NewChunk(ctx, opt)
	return &brokenChunk{chunk, b}, err
}

type brokenChunk struct {
	device.Chunk
	gpu *brokenGPU
}

func (b *brokenChunk) Load(ctx context.Context, src device.Source) (int64, error) {
	n, err := b.Chunk.Load(ctx, src)
	if b.gpu.step == "load" {
		err = b.gpu.err
	}
	return n, err
}

func (b *brokenChunk) Sort(ctx context.Context) error {
	if b.gpu.step == "sort" {
		return b.gpu.err
	}
	return b.Chunk.Sort(ctx)
}

func (b *brokenChunk) Store(ctx context.Context, limit int64, drain bool, w device.BlockWriter) error {
	err := b.Chunk.Store(ctx, limit, drain, w)
	if b.gpu.step == "store" {
		err = b.gpu.err
	}
	return err
}

// TestFallback makes a GPU fail at each step. If the planner chose the GPU, the CPU replaces it
// with one warning. If the user named it, the sort fails and keeps the old output.
func TestFallback(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	k := kindNamed("gensort")
	data := k.make(t, "few", 500, r)
	want := reference(t, k.layout(t), data, Options{})
	for _, step := range []string{"allocate", "load", "sort", "store"} {
		for _, cause := range []error{opencl.ErrAllocation, opencl.ErrBuild, opencl.ErrDevice} {
			for _, chosen := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%v/chosen=%t", step, cause, chosen), func(t *testing.T) {
					var warnings []string
					first := true
					opt := small(Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, Verify: true})
					opt.Output = writeFile(t, []byte("old"))
					opt.Warn = func(s string) { warnings = append(warnings, s) }
					if !chosen {
						opt.Devices = []string{deviceCPU}
					}
					opt.faults.wrapDevice = func(d device.Device) device.Device {
						if !first {
							return d
						}
						first = false
						return &brokenGPU{d, step, fmt.Errorf("while testing: %w", cause)}
					}
					report, err := Sort(context.Background(), opt)
					got, readErr := os.ReadFile(opt.Output)
					if readErr != nil {
						t.Fatal(readErr)
					}
					if !chosen {
						if !errors.Is(err, cause) || string(got) != "old" || len(warnings) > 0 {
							t.Fatalf("error %v, output %.10q, warnings %q", err, got, warnings)
						}
						return
					}
					if err != nil || !bytes.Equal(got, want) || !strings.Contains(report.FallbackReason, cause.Error()) {
						t.Fatalf("error %v, output is right: %t, reason %q", err, bytes.Equal(got, want), report.FallbackReason)
					}
					if len(warnings) != 1 || !strings.Contains(warnings[0], "broken GPU") {
						t.Errorf("warnings %q", warnings)
					}
				})
			}
		}
	}
}

// TestFallbackOfSpread makes the GPUs of a spread fail. The CPU alone sorts the records.
func TestFallbackOfSpread(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	data := k.make(t, "uniform", 500, seeded(t))
	opt := onDevices(Options{Record: k.spec, Inputs: []string{writeFile(t, data)}}, 2)
	opt.Output = filepath.Join(t.TempDir(), "out")
	opened := 0
	opt.faults.wrapDevice = func(d device.Device) device.Device {
		if opened++; opened > 2 {
			return d
		}
		return &brokenGPU{d, "sort", opencl.ErrDevice}
	}
	opt.faults.moreDevices = 2
	report, err := Sort(t.Context(), opt)
	if err == nil && report.FallbackReason == "" {
		t.Fatal("nothing failed")
	}
	if got, _ := os.ReadFile(opt.Output); err != nil || !bytes.Equal(got, reference(t, k.layout(t), data, opt)) {
		t.Errorf("error %v, output of %d bytes", err, len(got))
	}
}

// TestNoFallbackBehindHeader checks that a stream is not started again once its header is written,
// even without any record.
func TestNoFallbackBehindHeader(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	spec := format.Spec{Format: "npy", Keys: []string{"id"}}
	opt := Options{Record: spec, Inputs: []string{"../../testdata/particles.npy"}, Stdout: &out}
	opt.faults.wrapDevice = func(d device.Device) device.Device { return &brokenGPU{d, "sort", opencl.ErrDevice} }
	_, err := Sort(t.Context(), opt)
	if !errors.Is(err, opencl.ErrDevice) || bytes.Count(out.Bytes(), []byte("NUMPY")) > 1 {
		t.Errorf("error %v, %d bytes were written", err, out.Len())
	}
}
