package session

import (
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/device/opencl"
)

// TestNoDriverInVain checks that a sort that cannot use a GPU runs on the CPU without starting a
// GPU driver.
func TestNoDriverInVain(t *testing.T) {
	if opencl.Installed() {
		t.Skip("there is an OpenCL library")
	}
	name := writeFile(t, make([]byte, 8<<20))
	opt := Options{Record: kindNamed("u64").spec, Inputs: []string{name}, Output: filepath.Join(t.TempDir(), "out")}
	s, err := prepare(t.Context(), opt, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if len(s.run.Devices) != 1 || !s.run.Devices[0].Info().Host {
		t.Errorf("%d devices, the first is %v", len(s.run.Devices), s.run.Devices[0].Info())
	}
}
