package drivers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/format"
)

// fake lists devices that cannot be opened.
type fake struct {
	name    string
	devices []device.Info
	list    func() error
	refuses bool
	absent  bool
}

func (f *fake) Name() string    { return f.name }
func (f *fake) Installed() bool { return !f.absent }

func (f *fake) Supports(format.Layout) error {
	if f.refuses {
		return errors.New("sorts nothing")
	}
	return nil
}

func (f *fake) List(context.Context) ([]device.Info, error) { return slices.Clone(f.devices), f.list() }

func (f *fake) Open(_ context.Context, info device.Info, _ device.OpenOptions) (device.Device, error) {
	return nil, fmt.Errorf("%s opens %d", f.name, info.Number)
}

func works() error { return nil }

// use puts drivers behind that of the host until the end of a test.
func use(t *testing.T, more ...device.Driver) {
	before := Table
	t.Cleanup(func() { Table = before })
	Table = append([]device.Driver{cpu.Driver}, more...)
}

// TestDevicesAreNumberedThroughout lists the devices of several drivers, where one fails and one
// panics, and opens each device with its driver.
func TestDevicesAreNumberedThroughout(t *testing.T) {
	a := &fake{name: "a", list: works, devices: []device.Info{{Name: "a1"}, {Name: "a2"}}}
	b := &fake{name: "b", list: func() error { return errors.New("b is ill") }, devices: []device.Info{{Name: "b1"}}}
	c := &fake{name: "c", list: func() error { panic("c falls over") }}
	use(t, a, b, c)
	list, err := List(t.Context())
	if err == nil || !strings.Contains(err.Error(), "b is ill") || !strings.Contains(err.Error(), "c falls over") {
		t.Errorf("the error is %v", err)
	}
	if len(list) != 4 || !list[0].Host {
		t.Fatalf("the list is %+v", list)
	}
	for i, opened := range []string{"", "a opens 1", "a opens 2", "b opens 1"} {
		if list[i].Index != i {
			t.Errorf("%s has number %d, want %d", list[i].Name, list[i].Index, i)
		}
		d, err := Open(t.Context(), list[i], device.OpenOptions{})
		if i == 0 && (err != nil || d.Info().Index != 0) || i > 0 && (err == nil || err.Error() != opened) {
			t.Errorf("device %d: %v", i, err)
		}
	}
	if _, err := Open(t.Context(), device.Info{DriverName: "d"}, device.OpenOptions{}); err == nil {
		t.Error("a device without a driver was opened")
	}
}

// TestListReturnsWhenCancelled lists the devices of a driver that never answers.
func TestListReturnsWhenCancelled(t *testing.T) {
	hung := make(chan struct{})
	defer close(hung)
	ctx, cancel := context.WithCancel(t.Context())
	use(t, &fake{name: "hung", list: func() error {
		cancel()
		<-hung
		return nil
	}})
	if _, err := List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestSelect(t *testing.T) {
	list := []device.Info{
		{Index: 0, Name: "Processor", Kind: device.CPU},
		{Index: 1, Name: "Fast GPU 9", Kind: device.GPU},
		{Index: 2, Name: "Small gpu 2", Kind: device.GPU},
		{Index: 3, Name: "Abacus", Kind: "toy"},
		{Index: 4, Name: "Toy accelerator", Kind: device.OpenCLCPU},
	}
	for word, want := range map[string][]int{
		"0": {0}, "2": {2}, "5": nil, "cpu": {0}, "gpu": {1, 2}, "accelerator": nil, "toy": {3}, "opencl-cpu": {4},
		"GPU": {1, 2}, "fast": {1}, "ABA": {3}, "a": {1, 2, 3, 4}, "nothing": nil,
	} {
		found, err := Select(list, word)
		var got []int
		for _, info := range found {
			got = append(got, info.Index)
		}
		if !slices.Equal(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%q selects %v, want %v; %v", word, got, want, err)
		}
	}
}

func TestMayAccelerate(t *testing.T) {
	layout := format.Bare(format.Type{Kind: format.Unsigned, Size: 8})
	for _, c := range []struct {
		driver *fake
		want   bool
	}{
		{&fake{name: "good"}, true},
		{&fake{name: "absent", absent: true}, false},
		{&fake{name: "fussy", refuses: true}, false},
	} {
		use(t, c.driver)
		if got := MayAccelerate(layout); got != c.want {
			t.Errorf("driver %s may accelerate: %t", c.driver.name, got)
		}
		if err := Supports(device.Info{DriverName: c.driver.name}, layout); (err != nil) != c.driver.refuses {
			t.Errorf("driver %s: %v", c.driver.name, err)
		}
	}
	use(t)
	if MayAccelerate(layout) {
		t.Error("the host alone accelerates")
	}
}
