package main

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/drivers"
)

// toyDriver has one device: the CPU with another name and kind.
type toyDriver struct{}

func (toyDriver) Name() string { return "toys" }

func (toyDriver) Installed() bool { return true }

func (toyDriver) Supports(format.Layout) error { return nil }

func (toyDriver) List(context.Context) ([]device.Info, error) {
	return []device.Info{{
		Name:        "Wooden Abacus",
		Driver:      "toys 1.0",
		Kind:        "toy",
		Units:       10,
		MemoryBytes: 1 << 30,
		Algorithms:  []string{cpu.MSD},
	}}, nil
}

func (toyDriver) Open(_ context.Context, info device.Info, _ device.OpenOptions) (device.Device, error) {
	return &toyDevice{cpu.New(), info}, nil
}

type toyDevice struct {
	device.Device
	info device.Info
}

func (d *toyDevice) Info() device.Info { return d.info }

// TestToyDriver lists, times, tunes and uses the device of a driver that only this test
// registers.
func TestToyDriver(t *testing.T) {
	before := drivers.Table
	t.Cleanup(func() { drivers.Table = before })
	drivers.Table = append(before[:len(before):len(before)], toyDriver{})
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	folder := t.TempDir()
	in, sorted := filepath.Join(folder, "in"), filepath.Join(folder, "out")

	for _, step := range []struct {
		command string
		code    int
		want    string // text on standard output or in the error
	}{
		{"devices", exitDone, `(?s)[1-9]: Wooden Abacus\n +kind +toy, 10 units\n.*chunk +up to [0-9,]+ records of u64`},
		{"devices --json", exitDone, `"name":"Wooden Abacus",.*"kind":"toy"`},
		{"bench -d toy -t u64 --min 2^8 --max 2^8 --runs 1", exitDone, `(?m)^ +8 +[0-9.]+$`},
		{"gen -t u64 -n 5000 -o " + in, exitDone, ""},
		{"-t u64 -d abacus --stats --verify -o " + sorted + " " + in, exitDone, `device +Wooden Abacus\n`},
		{"-c -t u64 " + sorted, exitDone, ""},
		{
			"tune -d toy -T " + folder,
			exitError,
			`device [1-9] \(Wooden Abacus\) has no parameters to tune: name an OpenCL`,
		},
	} {
		var out, told bytes.Buffer
		code := run(t.Context(), strings.Fields(step.command), nil, &out, &told)
		text := out.String() + told.String()
		if code != step.code || !regexp.MustCompile(step.want).MatchString(text) {
			t.Errorf("%s: exit %d, no %q in\n%s", step.command, code, step.want, text)
		}
	}
}
