//go:build opencl && cgo && linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/internal/profile"
)

// hidingLibrary loads the OpenCL library of visible.c, whose four GPUs can be hidden by the
// environment. It simulates a machine whose processors are so slow that any GPU pays off.
func hidingLibrary(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("POCL_CACHE_DIR", folder)
	t.Setenv("POCL_MEMORY_LIMIT", "4")
	if _, err := opencl.Devices(); err != nil {
		t.Skip("no OpenCL device to test on: ", err)
	}
	library := devicetest.Library(
		t,
		"../../device/opencl/testdata/visible.c",
		"-Wl,--no-as-needed",
		"-l:libOpenCL.so.1",
		"-ldl",
	)
	t.Setenv("EXTSORT_OPENCL_LIBRARY", library)
	t.Setenv("EXTSORT_PROFILE", "")
	t.Setenv("XDG_CACHE_HOME", folder)
	slow := plan.DefaultProfile()
	slow.Sort = 1e-3
	if _, err := profile.Save(slow, nil, "a test"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"} {
		t.Setenv(name, "") // so that its value is restored
		os.Unsetenv(name)
	}
}

// onVisible returns a command that sees only the GPUs that variables makes visible. opened returns
// the GPUs that the command has opened.
func onVisible(t *testing.T, dir, variables string, args ...string) (cmd *exec.Cmd, opened func() string) {
	report := filepath.Join(t.TempDir(), "report")
	cmd = exec.Command("extsort", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), strings.Fields(variables+" EXTSORT_TEST_REPORT="+report)...)
	return cmd, func() string {
		lines, _ := os.ReadFile(report) // without a report, no GPU was opened
		return strings.Join(slices.Compact(strings.Split(strings.TrimSpace(string(lines)), "\n")), ",")
	}
}

// TestVisibleDevices lists the GPUs that the drivers' variables make visible. -d auto chooses the
// first visible GPU, because more GPUs do not pay off for so few records, or the CPU if no GPU is
// visible.
func TestVisibleDevices(t *testing.T) {
	hidingLibrary(t)
	dir := t.TempDir()
	mustRun(t, dir, "gen", "-t", "u64", "-n", "10000", "-o", "in")
	mustRun(t, dir, "-t", "u64", "-d", "cpu", "-o", "want", "in")
	for _, c := range []struct{ variables, want string }{
		{"", "NVIDIA 0,NVIDIA 1,AMD 0,AMD 1"},
		{"CUDA_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=", "NVIDIA 0"},
		{"CUDA_VISIBLE_DEVICES=1 ROCR_VISIBLE_DEVICES=", "NVIDIA 1"},
		{"CUDA_VISIBLE_DEVICES=1,0 ROCR_VISIBLE_DEVICES=", "NVIDIA 1,NVIDIA 0"},
		{"CUDA_VISIBLE_DEVICES= ROCR_VISIBLE_DEVICES=0", "AMD 0"},
		{"CUDA_VISIBLE_DEVICES= GPU_DEVICE_ORDINAL=1", "AMD 1"},
		{"CUDA_VISIBLE_DEVICES= ROCR_VISIBLE_DEVICES=1 GPU_DEVICE_ORDINAL=0", "AMD 1"},
		{"CUDA_VISIBLE_DEVICES= ROCR_VISIBLE_DEVICES=", ""},
	} {
		t.Run(c.variables, func(t *testing.T) {
			list, _ := onVisible(t, dir, c.variables, "devices", "--json")
			if got := listed(t, list); got != c.want {
				t.Errorf("listed: %q, want %q", got, c.want)
			}
			sort, opened := onVisible(t, dir, c.variables, "-t", "u64", "-d", "auto", "-o", "out", "in")
			if said, err := sort.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			if first, _, _ := strings.Cut(c.want, ","); opened() != first {
				t.Errorf("sorted on %q, want %q", opened(), first)
			}
			if !bytes.Equal(readFile(t, dir, "out"), readFile(t, dir, "want")) {
				t.Error("the output is not the CPU's")
			}
		})
	}
}

// listed returns the JSON of extsort devices without the CPU.
func listed(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	var list struct{ Devices []device.Info }
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil || len(list.Devices) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	var names []string
	for _, d := range list.Devices[1:] {
		names = append(names, d.Name)
	}
	return strings.Join(names, ",")
}

// TestTaskForEachGPU runs two tasks of extsort dist at once. Each task sees a different GPU, as if
// a scheduler had assigned it.
func TestTaskForEachGPU(t *testing.T) {
	hidingLibrary(t)
	d := planned(t, pairLayout, "2M", "-o", "out")
	var tasks []*exec.Cmd
	var opened []func() string
	for _, k := range []string{"0", "1"} {
		task, report := onVisible(t, d.dir, "ROCR_VISIBLE_DEVICES= CUDA_VISIBLE_DEVICES="+k,
			"dist", "run", "-S", "64M", "--part", k+"/2", "plan")
		if err := task.Start(); err != nil {
			t.Fatal(err)
		}
		tasks, opened = append(tasks, task), append(opened, report)
	}
	for k, task := range tasks {
		want := fmt.Sprint("NVIDIA ", k)
		if err := task.Wait(); err != nil || opened[k]() != want {
			t.Errorf("task %d: %v, on %q, want %q", k, err, opened[k](), want)
		}
	}
	for _, verb := range []string{"cut", "merge", "verify"} {
		mustRun(t, d.dir, "dist", verb, "plan")
	}
	d.check("out")
}

// TestGPUsOfSlurm makes Slurm assign a GPU to each task. It adds a line to the printed script that
// records the assigned and the opened GPU. Each node has two GPUs, so tasks that run at once must
// use different GPUs.
func TestGPUsOfSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	hidingLibrary(t)
	t.Setenv("ROCR_VISIBLE_DEVICES", "")
	newSlurm(t, 1, 2)
	d := planned(t, pairLayout, "2M", "-o", "out")
	reports := t.TempDir()
	script := string(mustRun(t, d.dir, "dist", "script", "slurm", "-d", "gpu", "-S", "64M", "--parallel", "1", "plan"))
	noted := strings.Replace(script, "\ncase $1 in\n", "\nexport EXTSORT_TEST_REPORT="+reports+
		"/$1.$SLURM_ARRAY_TASK_ID.$CUDA_VISIBLE_DEVICES.$SLURM_CPUS_PER_TASK\ncase $1 in\n", 1)
	if err := os.WriteFile(filepath.Join(d.dir, "sort.sh"), []byte(noted), 0o755); err != nil {
		t.Fatal(err)
	}
	d.wait(d.command("bash", "sort.sh"))
	d.check("out")
	given := map[string]int{}
	for k := range 8 {
		names, _ := filepath.Glob(filepath.Join(reports, fmt.Sprintf("run.%d.?.1", k)))
		if len(names) != 1 {
			t.Errorf("run %d: reports %q", k, names)
			continue
		}
		gpu := strings.Split(filepath.Base(names[0]), ".")[2]
		given[gpu]++
		if opened := string(
			readFile(t, reports, filepath.Base(names[0])),
		); !strings.HasPrefix(opened, "NVIDIA "+gpu+"\n") {
			t.Errorf("run %d was given GPU %s, and opened %q", k, gpu, opened)
		}
	}
	if others, _ := filepath.Glob(
		filepath.Join(reports, "[^r]*"),
	); given["0"] == 0 || given["1"] == 0 || len(others) > 0 {
		t.Errorf("GPUs of the runs: %v, of others: %q", given, others)
	}
}
