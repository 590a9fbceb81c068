//go:build opencl && cgo && linux

package main

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/extsort/extsort/device/opencl"
)

// TestTuneOnADevice tunes the first OpenCL device briefly. The device is then listed with the
// measurements, and timed.
func TestTuneOnADevice(t *testing.T) {
	folder := t.TempDir()
	for name, value := range map[string]string{"POCL_CACHE_DIR": folder, "POCL_MEMORY_LIMIT": "4",
		"XDG_CACHE_HOME": folder} {
		t.Setenv(name, value)
	}
	if _, err := opencl.Devices(); err != nil {
		t.Skip("no OpenCL device to test on: ", err)
	}
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"devices"}, `(?m)^1: `},
		{[]string{"tune", "-d", "1", "-n", "2^10", "-t", "u64", "--budget", "1s"},
			`(?s)u64 onesweep +.*default.*link .*/s each way.*stored in `},
		{[]string{"devices"}, `(?s)\n1: .*\n   link +[0-9.]+ .iB/s\n   sort u64 +[0-9.]+ .iB/s\n`},
		{
			[]string{
				"bench",
				"-d",
				"1",
				"--algorithm",
				"tile,selection",
				"-t",
				"u32",
				"--min",
				"2^9",
				"--max",
				"2^9",
				"--runs",
				"1",
			},
			`(?m)^ +9 +[0-9.]+ +[0-9.]+$`,
		},
	} {
		var out, faults bytes.Buffer
		if code := run(t.Context(), step.args, nil, &out, &faults); code != exitDone {
			t.Fatalf("%v: exit %d, %s", step.args, code, &faults)
		}
		if !regexp.MustCompile(step.want).Match(out.Bytes()) {
			t.Errorf("%v: no %s in\n%s", step.args, step.want, &out)
		}
	}
	var out, faults bytes.Buffer
	code := run(t.Context(), []string{"tune", "-d", "1", "-n", "2^40"}, nil, &out, &faults)
	want := `^extsort: tune device 1 .* 1099511627776 keys of .* do not fit its memory .* \(try another -n\)\n$`
	if code != exitError || !regexp.MustCompile(want).Match(faults.Bytes()) {
		t.Errorf("tune of too many keys: exit %d, %s", code, &faults)
	}
}
