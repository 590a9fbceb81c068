//go:build opencl && cgo && linux

package session

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/testfiles"
)

// A device that was not measured before is measured if its rates matter, and opened if they are
// good enough.
func TestUnknownDeviceIsMeasured(t *testing.T) {
	list, err := opencl.Devices()
	if err != nil {
		t.Skip("no OpenCL device to test on: ", err)
	}
	data := kindNamed("u64").make(t, "uniform", 1000, rand.New(rand.NewPCG(1, 2)))
	opt := Options{Record: kindNamed("u64").spec, Inputs: []string{writeFile(t, data)},
		Output: filepath.Join(t.TempDir(), "out")}
	s, err := begin(t.Context(), opt, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	profile, diskOf := machineProfile()
	facts, err := factsOfData(t.Context(), &s.opt, s.run, profile, diskOf)
	if err != nil {
		t.Fatal(err)
	}
	opener := deviceOpener{session: s, facts: facts}
	asked := 0
	pays := func(gpu plan.Device) bool {
		asked++
		return gpu.LinkBytes > 0 && gpu.SortBytes > 0
	}
	info := list[0]
	info.LinkRate, info.SortRate = 0, 0
	if opener.openIfFaster(t.Context(), info, pays); len(s.run.Devices) != 1 || asked != 2 {
		t.Fatalf("%d devices are open, %d times it was asked whether one pays", len(s.run.Devices), asked)
	}
	if got := s.run.Devices[0].Info(); got.LinkRate <= 0 || got.SortRate <= 0 {
		t.Errorf("opened with link %g, sort %g", got.LinkRate, got.SortRate)
	}
	info.LinkRate, info.SortRate = 1e9, 1e9
	if opener.openIfFaster(t.Context(), info, func(gpu plan.Device) bool { return false }); len(s.run.Devices) != 1 {
		t.Error("a device that is known to be slow was opened")
	}
	if got := engine.DescribeInfo(info, 1<<20); got.Memory > 1<<20 {
		t.Errorf("%d bytes of memory are described, 1 MiB is allowed", got.Memory)
	}
}

// unifiedChild is set in the process that sorts for TestMemoryLimitOnUnifiedDevice, to a case and
// the input.
const unifiedChild = "EXTSORT_TEST_UNIFIED"

var unifiedCases = []struct {
	kind     string
	strategy Strategy
}{{"u64", MergeRuns}, {"u64", Partition}, {"gensort", MergeRuns}, {"gensort", Partition}}

const unifiedLimit = 64 << 20

// A device's buffers in host memory count towards the memory limit. Each case runs twice, each
// time in a process of its own, because the first run may build kernels, for which the driver
// takes memory without a limit. Short tests have each strategy and each kind of records once.
func TestMemoryLimitOnUnifiedDevice(t *testing.T) {
	if os.Getenv(unifiedChild) != "" {
		sortOnUnifiedDevice(t)
		return
	}
	if testfiles.Race {
		t.Skip("the race detector takes memory")
	}
	unifiedDevice(t)
	for i, c := range unifiedCases {
		if testing.Short() && i%3 > 0 {
			continue
		}
		t.Run(fmt.Sprint(c.kind, " ", c.strategy), func(t *testing.T) {
			in := filepath.Join(t.TempDir(), "in")
			writeGenerated(t, in, kindNamed(c.kind).layout(t), "uniform", 160<<20)
			run := func() ([]byte, error) {
				child := exec.Command(os.Args[0], "-test.run", "^TestMemoryLimitOnUnifiedDevice$", "-test.v")
				child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", unifiedChild, i, in))
				return child.CombinedOutput()
			}
			output, err := run()
			if err != nil { // the driver may have compiled kernels, which takes memory
				output, err = run()
			}
			if err != nil {
				t.Errorf("%v\n%s", err, output)
			}
			t.Logf("%s", output)
		})
	}
}

// unifiedDevice returns the number of a device that shares the host's memory.
func unifiedDevice(t *testing.T) string {
	list, err := opencl.Devices()
	at := slices.IndexFunc(list, func(d device.Info) bool { return d.UnifiedMemory })
	if at < 0 {
		t.Skip("no OpenCL device in the host's memory: ", err)
	}
	return strconv.Itoa(list[at].Index)
}

func sortOnUnifiedDevice(t *testing.T) {
	var i int
	var in string
	if n, err := fmt.Sscan(os.Getenv(unifiedChild), &i, &in); n != 2 {
		t.Fatal(err)
	}
	debug.SetGCPercent(50) // as the command does
	c := unifiedCases[i]
	opt := Options{Record: kindNamed(c.kind).spec, Inputs: []string{in}, MemoryBytes: unifiedLimit, Verify: true,
		MeasureMemory: true,
		Strategy:      c.strategy, Workers: 2, Devices: []string{unifiedDevice(t)},
		Output: filepath.Join(t.TempDir(), "out"), TempDirs: []string{t.TempDir()}}
	planned, err := Plan(t.Context(), opt)
	if err != nil || !planned.Unified {
		t.Fatalf("the plan does not say that the limit is for the device, too: %v", err)
	}
	report, err := Sort(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB at the peak", report.Detail.PeakMemory>>20)
	if report.Detail.PeakMemory == 0 || report.Detail.PeakMemory > unifiedLimit {
		t.Errorf("%d MiB of memory at the peak, the limit is %d MiB", report.Detail.PeakMemory>>20, unifiedLimit>>20)
	}
}
