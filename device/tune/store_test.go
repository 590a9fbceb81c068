package tune

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/opencl/algo"
)

var (
	u32   = opencl.KeyKind{WordBytes: 4}
	u64   = opencl.KeyKind{WordBytes: 8}
	gpu   = device.Info{Index: 1, Name: "Fast/GPU 9000", Driver: "OpenCL 3.0, driver 1.2", Kind: device.GPU}
	known = opencl.Tuning{
		Sorts: []opencl.TunedSort{
			{Key: u32, Algorithm: "onesweep", Params: algo.Params{GroupSize: 384, Items: 20}, Records: 1 << 20,
				Rate: 4e10, Default: 3e10},
			{Key: u64, Algorithm: "count-scan-reorder", Records: 1 << 20, Rate: 2e10, Default: 2e10},
		},
		Tiny:     []opencl.TunedSort{{Key: u32, Algorithm: "selection", Records: 256, Rate: 1e7, Default: 1e6}},
		LinkRate: 5.5e10, SortRate: 1.6e11,
	}
)

// inCache gives the test a cache folder of its own.
func inCache(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, folder)
	}
}

func save(t *testing.T) string {
	t.Helper()
	name, err := Save(gpu, known)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestStore(t *testing.T) {
	inCache(t)
	if got := Load(gpu); got != nil {
		t.Fatalf("nothing was kept, but there is %+v", got)
	}
	name := save(t)
	if diff := cmp.Diff(&known, Load(gpu)); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 1 || !strings.HasPrefix(entries[0].Name(), "Fast-GPU-9000-") {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	other := gpu
	other.Driver = "OpenCL 3.0, driver 1.3"
	if got := Load(other); got != nil {
		t.Errorf("another driver has %+v", got)
	}
	devices := []device.Info{{Name: "CPU", Kind: device.CPU}, gpu, other}
	Describe(devices)
	if devices[1].LinkRate != known.LinkRate || devices[1].SortRate != known.SortRate ||
		devices[0].LinkRate+devices[2].SortRate != 0 {
		t.Errorf("described as %+v", devices)
	}
}

// Whatever the file holds, it is no error, and misleads nobody.
func TestStoreThatIsDamaged(t *testing.T) {
	inCache(t)
	name := save(t)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	replaced := func(old, new string) string {
		if !strings.Contains(string(whole), old) {
			t.Fatalf("no %s in %s", old, whole)
		}
		return strings.Replace(string(whole), old, new, 1)
	}
	for what, content := range map[string]string{
		"nothing":         "",
		"half":            string(whole[:len(whole)/2]),
		"noise":           "\x00\xff{]",
		"another type":    `[1, 2]`,
		"another version": replaced(`"version": 1`, `"version": 2`),
		"another device":  replaced(gpu.Name, "Slow/GPU"),
		"another driver":  replaced("driver 1.2", "driver 1.1"),
		"other kernels":   replaced(`"kernels": "`, `"kernels": "0`),
		"another key":     replaced(`"key": "u32"`, `"key": "u31"`),
		"a negative rate": replaced(`"linkRate": `, `"linkRate": -`),
		"a rate too high": replaced(`"sortRate": `, `"sortRate": 9999`),
		"negative sizes":  replaced(`"records": `, `"records": -`),
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Load(gpu); got != nil {
			t.Errorf("%s was taken for %+v", what, got)
		}
	}
	save(t)
	if Load(gpu) == nil {
		t.Error("a damaged file cannot be replaced")
	}
}

func TestStoreThatCannotBe(t *testing.T) {
	inCache(t)
	name, err := pathOf(gpu)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(filepath.Dir(name))
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil { // a file where a folder should be
		t.Fatal(err)
	}
	if _, err := Save(gpu, known); err == nil || !strings.Contains(err.Error(), gpu.Name) {
		t.Errorf("kept nowhere: %v", err)
	}
	if got := Load(gpu); got != nil {
		t.Errorf("loaded %+v", got)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"version":1,"device":"Fast/GPU 9000","tuning":{"sorts":[{"key":"u32","keysPerSecond":1e9}]}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		inCache(t)
		name := save(t)
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Load(gpu); got != nil && !plausible(*got) {
			t.Errorf("loaded %+v", got)
		}
	})
}

func TestMerge(t *testing.T) {
	found := opencl.Tuning{Sorts: []opencl.TunedSort{{Key: u32, Algorithm: "onesweep", Rate: 1}}, LinkRate: 7}
	want := opencl.Tuning{Sorts: []opencl.TunedSort{found.Sorts[0], known.Sorts[1]}, LinkRate: 7, SortRate: known.SortRate}
	if diff := cmp.Diff(want, Merge(&known, found)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(found, Merge(nil, found)); diff != "" {
		t.Error(diff)
	}
}
