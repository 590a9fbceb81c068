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

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/drivers"
)

// toyDriver has one device: the CPU with another name, kind and algorithm.
type toyDriver struct {
	automatic bool
	step      string // the step at which its chunks fail, see brokenGPU; "": never
	onList    func()
}

func (toyDriver) Name() string { return "toys" }

func (toyDriver) Installed() bool { return true }

func (toyDriver) Supports(layout format.Layout) error {
	if layout.MovesNaNs() {
		return errors.New("has no beads for NaNs")
	}
	return nil
}

func (d toyDriver) List(context.Context) ([]device.Info, error) {
	if d.onList != nil {
		d.onList()
	}
	return []device.Info{{
		Name:        "Wooden Abacus",
		Driver:      "toys 1.0",
		Kind:        "toy",
		Automatic:   d.automatic,
		Units:       10,
		MemoryBytes: 1 << 40,
		LinkRate:    1e12,
		SortRate:    1e12,
		Algorithms:  []string{"beads"},
	}}, errors.New("one abacus is broken")
}

func (d toyDriver) Open(_ context.Context, info device.Info, _ device.OpenOptions) (device.Device, error) {
	failure := fmt.Errorf("a bead is lost: %w", device.ErrFailed)
	return &toyDevice{&brokenGPU{cpu.New(), d.step, failure}, info}, nil
}

type toyDevice struct {
	*brokenGPU
	info device.Info
}

func (d *toyDevice) Info() device.Info { return d.info }

func (d *toyDevice) NewChunk(ctx context.Context, opt device.ChunkOptions) (device.Chunk, error) {
	opt.Algorithm = ""
	return d.brokenGPU.NewChunk(ctx, opt)
}

// addDriver adds a driver to the table until the end of a test.
func addDriver(t *testing.T, d device.Driver) {
	before := drivers.Table
	t.Cleanup(func() { drivers.Table = before })
	drivers.Table = append(before[:len(before):len(before)], d)
}

// gpusPay makes the planner choose any device that its driver reports as fast, even for small
// inputs.
func gpusPay(t *testing.T) {
	before := machineProfile
	t.Cleanup(func() { machineProfile = before })
	machineProfile = func() (*plan.Profile, func(string) plan.Disk) {
		profile, diskOf := before()
		fast := *profile
		fast.GPUStart = 0
		return &fast, diskOf
	}
}

// TestToyDriverIsNamed sorts with the device of a driver that exists only in this test, by each
// name that users can give.
func TestToyDriverIsNamed(t *testing.T) {
	addDriver(t, toyDriver{})
	list := Devices(t.Context())
	last := list.Devices[len(list.Devices)-1]
	if last.Name != "Wooden Abacus" || last.Index != len(list.Devices)-1 || !strings.Contains(list.Note, "one abacus") {
		t.Fatalf("the list is %+v", list)
	}
	k := kindNamed("gensort")
	data := k.make(t, "few", 2000, seeded(t))
	for _, word := range []string{"toy", "abacus", fmt.Sprint(last.Index)} {
		for _, strategy := range []Strategy{Auto, MergeRuns, Partition} {
			opt := small(Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, Verify: true})
			opt.Output = filepath.Join(t.TempDir(), "out")
			opt.Devices, opt.Strategy = []string{word}, strategy
			report, err := Sort(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(opt.Output)
			if err != nil || !bytes.Equal(got, reference(t, k.layout(t), data, opt)) || report.Device != last.Name {
				t.Errorf("device %s, strategy %s: %q sorted %d bytes: %v", word, strategy, report.Device, len(got), err)
			}
		}
	}
}

// TestToyDriverIsChosen makes the planner choose the toy. If the toy fails, the CPU sorts, unless
// only the toy has the requested algorithm.
func TestToyDriverIsChosen(t *testing.T) {
	gpusPay(t)
	k := kindNamed("u64")
	data := k.make(t, "uniform", 5000, seeded(t))
	for _, c := range []struct {
		step, algorithm string
		fallback, fails bool
	}{
		{"", "", false, false},
		{"", "beads", false, false},
		{"allocate", "", true, false},
		{"load", "", true, false},
		{"sort", "", true, false},
		{"store", "", true, false},
		{"sort", "beads", false, true},
	} {
		t.Run(c.step+c.algorithm, func(t *testing.T) {
			addDriver(t, toyDriver{automatic: true, step: c.step})
			var warnings []string
			opt := Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, Algorithm: c.algorithm}
			opt.Output = filepath.Join(t.TempDir(), "out")
			opt.Warn = func(s string) { warnings = append(warnings, s) }
			report, err := Sort(t.Context(), opt)
			if c.fails {
				if !errors.Is(err, device.ErrFailed) || len(warnings) > 0 {
					t.Errorf("error %v, warnings %q", err, warnings)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(opt.Output)
			if err != nil || !bytes.Equal(got, reference(t, k.layout(t), data, opt)) {
				t.Errorf("%d bytes of output: %v", len(got), err)
			}
			if fell := report.Device != "Wooden Abacus"; fell != c.fallback {
				t.Errorf("%s sorted", report.Device)
			}
			if fell := strings.Contains(report.FallbackReason, "a bead is lost"); fell != c.fallback {
				t.Errorf("the reason is %q", report.FallbackReason)
			}
			if (len(warnings) > 0) != c.fallback {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}

// TestToyDriverCannotSortAll requests a sort of records that a driver does not support. The driver
// is not started, and returns an error if the user names it.
func TestToyDriverCannotSortAll(t *testing.T) {
	gpusPay(t)
	lists := 0
	addDriver(t, toyDriver{automatic: true, onList: func() { lists++ }})
	spec := format.Spec{Type: "f64", NaN: "last"}
	opt := Options{Record: spec, Inputs: []string{writeFile(t, make([]byte, 8<<10))}}
	opt.Output = filepath.Join(t.TempDir(), "out")
	report, err := Sort(t.Context(), opt)
	if err != nil || report.FallbackReason != "" || lists > 0 {
		t.Errorf("%d starts; error %v", lists, err)
	}
	opt.Devices = []string{"toy"}
	if _, err := Sort(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "no beads for NaNs; use the CPU") {
		t.Errorf("error %v", err)
	}
}

// TestSortIsCancelledWhileADriverStarts cancels a sort while a driver looks for its devices.
func TestSortIsCancelledWhileADriverStarts(t *testing.T) {
	hung := make(chan struct{})
	defer close(hung)
	ctx, cancel := context.WithCancel(t.Context())
	addDriver(t, toyDriver{onList: func() {
		cancel()
		<-hung
	}})
	opt := Options{Record: kindNamed("u64").spec, Inputs: []string{writeFile(t, make([]byte, 8<<10))}}
	opt.Output, opt.Devices = filepath.Join(t.TempDir(), "out"), []string{"toy"}
	if _, err := Sort(ctx, opt); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
