//go:build opencl && cgo && linux

package opencl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format/formattest"
)

// The tests in this file run the test binary again with another libOpenCL: testdata/faulty.c. It
// makes one of the calls fail that a small sort makes, or none.

// childVariable is set in the environment of the child process.
const childVariable = "EXTSORT_TEST_CHILD"

// stepVariable is set in the child process to the number of calls from one failure to the next.
const stepVariable = "EXTSORT_TEST_STEP"

// child runs the test with the given name in a child process and returns its output.
func child(t *testing.T, name string, environment ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Env = append(cmd.Env, environment...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// buildFaulty compiles the library whose calls can fail.
func buildFaulty(t *testing.T) string {
	t.Helper()
	open(t, Options{}) // skips the test if there is no device
	return devicetest.Library(t, "testdata/faulty.c", "-ldl")
}

// TestFaults makes one call after another fail. Each failure must lead to an error of a known
// kind, or to the correct order if the call is not essential, but never to a crash, a hang or a
// wrong order. Of about 700 calls, every ninth fails, every 25th in short tests, or each one with
// EXTSORT_TEST_EXHAUSTIVE=1 (90 s).
func TestFaults(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		failEachCall(t)
		return
	}
	library := buildFaulty(t)
	step := 9
	switch {
	case os.Getenv("EXTSORT_TEST_EXHAUSTIVE") != "":
		step = 1
	case testing.Short():
		step = 25
	}
	out, err := child(t, "TestFaults", "EXTSORT_OPENCL_LIBRARY="+library, fmt.Sprint(stepVariable, "=", step),
		"EXTSORT_TEST_REPORT="+filepath.Join(t.TempDir(), "report"))
	if err != nil || !strings.Contains(out, "PASS: TestFaults") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(out)
}

// failEachCall is the test's part in the child process.
func failEachCall(t *testing.T) {
	seen := map[string]int{} // number of failures of each call
	step, err := strconv.Atoi(os.Getenv(stepVariable))
	if err != nil {
		t.Fatal(err)
	}
	for i, fields := range [][]string{{"0:i32"}, {"2:u16be", "4:u64:desc"}} {
		for n := 1 + 4*i; ; n += step {
			name := failCall(t, n, fields)
			if name == "" || t.Failed() {
				break
			}
			seen[name]++
		}
	}
	for _, name := range []string{"clGetPlatformIDs", "clGetDeviceInfo", "clCreateBuffer", "clCreateKernel",
		"clSetKernelArg", "clEnqueueNDRangeKernel"} {
		if seen[name] == 0 {
			t.Errorf("no fault at %s", name)
		}
	}
	t.Log("faults injected: ", seen)
}

// failCall sorts while call n fails. It returns the name of that call, or "" if there were fewer
// than n calls.
func failCall(t *testing.T, n int, fields []string) string {
	report, code := os.Getenv("EXTSORT_TEST_REPORT"), []int{-4, -5, -9999}[n%3]
	os.Remove(report)
	os.Setenv("EXTSORT_TEST_CODE", fmt.Sprint(code))
	os.Setenv("EXTSORT_TEST_FAULT", fmt.Sprint(n))
	err := sortWithFaults(t, fields...)
	os.Setenv("EXTSORT_TEST_FAULT", "0")
	name, _ := os.ReadFile(report)
	known := err == nil || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrAllocation) ||
		errors.Is(err, ErrBuild) || errors.Is(err, ErrDevice)
	if !known || len(name) == 0 && err != nil {
		t.Errorf("call %d, %s, code %d: %v", n, name, code, err)
	}
	return string(name)
}

func sortWithFaults(t *testing.T, fields ...string) error {
	size := 4 * (1 + 2*(len(fields)-1))
	l := formattest.Fields(t, size, fields...)
	d, err := Open(1, Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	ctx := context.Background()
	c, err := d.NewChunk(ctx, device.ChunkOptions{Keyer: formattest.KeyerOf(t, l), Records: 3000,
		MemoryBytes: 32 << 10, Workers: 2})
	if err != nil {
		return err
	}
	defer c.Close()
	recs := randomRecords(l, 3000, "uniform")
	if _, err := c.Load(ctx, &devicetest.Source{Size: size, Recs: recs}); err != nil {
		return err
	}
	if err := c.Sort(ctx); err != nil {
		return err
	}
	out := devicetest.Collector{Size: size}
	if err := c.Store(ctx, -1, false, &out); err != nil {
		return err
	}
	if !bytes.Equal(out.Written(t), devicetest.Sorted(l, recs)) {
		t.Error("a failed call went unnoticed: wrong order")
	}
	return nil
}

// TestNoLibrary runs without libOpenCL: there is no device, and the error mentions that a
// variable may hide devices.
func TestNoLibrary(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		out, err := child(t, "TestNoLibrary", "EXTSORT_OPENCL_LIBRARY=/nonexistent/libOpenCL.so.1")
		if err != nil || !strings.Contains(out, "PASS: TestNoLibrary") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "7")
	list, err := Devices()
	if len(list) != 0 || !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "libOpenCL") ||
		!strings.Contains(err.Error(), "CUDA_VISIBLE_DEVICES=7 hides") {
		t.Errorf("%d devices, %v", len(list), err)
	}
	if _, err := Open(1, Options{}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Open: %v", err)
	}
}

// TestFailingDriver checks that a driver whose calls fail is not reported as missing.
func TestFailingDriver(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		out, err := child(t, "TestFailingDriver", "EXTSORT_OPENCL_LIBRARY="+buildFaulty(t))
		if err != nil || !strings.Contains(out, "PASS: TestFailingDriver") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	for n := 1; n <= 3; n++ { // clGetPlatformIDs, clGetDeviceIDs, clGetDeviceInfo
		t.Setenv("EXTSORT_TEST_FAULT", fmt.Sprint(n))
		list, err := Devices()
		if len(list) != 0 || err == nil || errors.Is(err, ErrUnavailable) ||
			!strings.Contains(err.Error(), "OpenCL driver failed") {
			t.Errorf("call %d fails: %d devices, %v", n, len(list), err)
		}
	}
}
