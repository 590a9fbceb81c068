package opencl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/internal/testfiles"
)

var (
	tunedGPU = device.Info{
		DriverName: driverName,
		Name:       "Fast/GPU 9000",
		Driver:     "OpenCL 3.0, driver 1.2",
		Kind:       device.GPU,
		Index:      1,
	}
	known = Tuning{
		Sorts: []TunedSort{
			{Key: narrow, Algorithm: "onesweep", Params: algo.Params{GroupSize: 384, Items: 20}, Records: 1 << 20,
				Rate: 4e10, Default: 3e10},
			{Key: KeyKind{WordBytes: 8}, Algorithm: "count-scan-reorder", Records: 1 << 20, Rate: 2e10, Default: 2e10},
		},
		Tiny:     []TunedSort{{Key: narrow, Algorithm: "selection", Records: 256, Rate: 1e7, Default: 1e6}},
		LinkRate: 5.5e10, SortRate: 1.6e11,
	}
)

// inCache gives the test a cache directory of its own.
func inCache(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, folder)
	}
}

func saveKnown(t *testing.T) string {
	t.Helper()
	name, err := SaveTuning(tunedGPU, known)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTuningIsStored(t *testing.T) {
	inCache(t)
	if got := LoadTuning(tunedGPU); got != nil {
		t.Fatalf("nothing was kept, but there is %+v", got)
	}
	name := saveKnown(t)
	if diff := cmp.Diff(&known, LoadTuning(tunedGPU)); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 1 || !strings.HasPrefix(entries[0].Name(), "Fast-GPU-9000-") {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	other := tunedGPU
	other.Driver = "OpenCL 3.0, driver 1.3"
	if got := LoadTuning(other); got != nil {
		t.Errorf("another driver has %+v", got)
	}
	foreign := tunedGPU
	foreign.DriverName = "another"
	if got := LoadTuning(foreign); got != nil {
		t.Errorf("a device of another driver has %+v", got)
	}
	if removed, err := ForgetTuning(foreign); removed != "" || err != nil {
		t.Errorf("a device of another driver: removed %q, %v", removed, err)
	}
	if removed, err := ForgetTuning(tunedGPU); removed != name || err != nil || LoadTuning(tunedGPU) != nil {
		t.Errorf("removed %q, %v", removed, err)
	}
}

// A damaged file is ignored without an error.
func TestStoredTuningThatIsDamaged(t *testing.T) {
	inCache(t)
	name := saveKnown(t)
	whole := testfiles.Read(t, name)
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
		"another device":  replaced(tunedGPU.Name, "Slow/GPU"),
		"another driver":  replaced("driver 1.2", "driver 1.1"),
		"other kernels":   replaced(`"kernels": "`, `"kernels": "0`),
		"another key":     replaced(`"key": "u32"`, `"key": "u31"`),
		"a negative rate": replaced(`"linkRate": `, `"linkRate": -`),
		"a rate too high": replaced(`"sortRate": `, `"sortRate": 9999`),
		"negative sizes":  replaced(`"records": `, `"records": -`),
	} {
		testfiles.Write(t, name, []byte(content))
		if got := LoadTuning(tunedGPU); got != nil {
			t.Errorf("%s was taken for %+v", what, got)
		}
	}
	saveKnown(t)
	if LoadTuning(tunedGPU) == nil {
		t.Error("a damaged file cannot be replaced")
	}
}

func TestUnstorableTuning(t *testing.T) {
	inCache(t)
	name, err := tuningPath(tunedGPU)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(filepath.Dir(name))
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil { // a file instead of a directory
		t.Fatal(err)
	}
	if _, err := SaveTuning(tunedGPU, known); err == nil || !strings.Contains(err.Error(), tunedGPU.Name) {
		t.Errorf("kept nowhere: %v", err)
	}
	if got := LoadTuning(tunedGPU); got != nil {
		t.Errorf("loaded %+v", got)
	}
}

func FuzzLoadTuning(f *testing.F) {
	f.Add([]byte(`{"version":1,"device":"Fast/GPU 9000","tuning":{"sorts":[{"key":"u32","keysPerSecond":1e9}]}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		inCache(t)
		name := saveKnown(t)
		testfiles.Write(t, name, content)
		if got := LoadTuning(tunedGPU); got != nil && !got.plausible() {
			t.Errorf("loaded %+v", got)
		}
	})
}

func TestMergeTuning(t *testing.T) {
	found := Tuning{Sorts: []TunedSort{{Key: narrow, Algorithm: "onesweep", Rate: 1}}, LinkRate: 7}
	want := Tuning{Sorts: []TunedSort{found.Sorts[0], known.Sorts[1]}, LinkRate: 7, SortRate: known.SortRate}
	if diff := cmp.Diff(want, found.Merge(&known)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(found, found.Merge(nil)); diff != "" {
		t.Error(diff)
	}
}
