package profile

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestMeasure measures this machine and the disk of two directories. Every rate must be a positive
// number, however busy the machine is, and no files may be left over.
func TestMeasure(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	p, disks, err := Measure(t.Context(), []string{".", folder})
	if err != nil {
		t.Fatal(err)
	}
	for i, price := range reflect.ValueOf(*p).Fields() {
		if price.Kind() == reflect.Float64 && !(price.Float() > 0 && price.Float() < 1e15) {
			t.Errorf("%s is %g", i.Name, price.Float())
		}
	}
	if p.SortPower > 1 {
		t.Errorf("the power of workers is %g", p.SortPower)
	}
	if !p.Rates().Measured {
		t.Errorf("%q is taken for the default", p.Machine)
	}
	d := disks[diskID(folder)]
	if onDisk := !spill.InMemory(folder); onDisk && (len(disks) != 1 || d.Folder != folder || d.Write <= 0) {
		t.Errorf("%+v", disks)
	}
	for _, rate := range []float64{d.Fetch, d.Mixed} { // bypassing the page cache, if possible
		if (rate > 0) != (d.Fetch > 0) {
			t.Errorf("%+v", d)
		}
	}
	if names, err := os.ReadDir(folder); len(names) > 0 || err != nil {
		t.Errorf("in the folder: %v, %v", names, err)
	}
}

// TestReadRate continues sequentially if the first rate is considered slow, and uses the higher
// of both rates.
func TestReadRate(t *testing.T) {
	for _, records := range []int{0, 1, 7, 1 << 19, 1 << 20} {
		name := testfiles.Temp(t, "in", make([]byte, 12*records))
		kind := input.Kind{Spec: format.Spec{RecordSize: 12}}
		in, err := input.Open(t.Context(), kind, input.Named(name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer in[0].Close()
		asked := 0.0
		rate, fromDisk := ReadRate(t.Context(), in, func(rate float64) bool { asked = rate; return true })
		if rate < asked || fromDisk != (rate > 0) || (rate > 0) != (12*records >= trialReads*blockBytes) {
			t.Errorf("%d records: %g bytes/s, and %g here and there", records, rate, asked)
		}
	}
}

func TestMeasureFails(t *testing.T) {
	_, _, err := Measure(t.Context(), []string{filepath.Join(t.TempDir(), "missing")})
	if err == nil || !strings.HasPrefix(err.Error(), "measure this machine: ") {
		t.Errorf("a missing folder: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var trials trials
	var d plan.Disk
	trials.measureFolder(ctx, plan.DefaultProfile(), t.TempDir(), false, &d)
	if !errors.Is(trials.err, context.Canceled) || d.Fetch > 0 {
		t.Errorf("a cancelled trial: %v, after which it was read: %+v", trials.err, d)
	}
}

// nothingStored uses a new cache directory.
func nothingStored(t *testing.T) (folder string) {
	folder = t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, folder)
	}
	t.Setenv("EXTSORT_PROFILE", "")
	return folder
}

// TestLoad checks that the stored profile of this machine is found, and that a missing, damaged
// or foreign one is ignored.
func TestLoad(t *testing.T) {
	nothingStored(t)
	if p := Load().Profile; *p != *plan.DefaultProfile() {
		t.Errorf("nothing is kept: %+v", p)
	}
	want := *plan.DefaultProfile()
	want.Machine, want.Sort = "this one", 7e-9
	kept, err := Save(&want, nil, "extsort tune")
	if err != nil {
		t.Fatal(err)
	}
	if p := Load().Profile; *p != want {
		t.Errorf("kept is %+v, not %+v", p, want)
	}
	content := testfiles.Read(t, kept.File)
	for what, change := range map[string]func(k *Stored){
		"another processor": func(k *Stored) { k.Processor += "X" },
		"more processors":   func(k *Stored) { k.Processors++ },
		"another form":      func(k *Stored) { k.Version++ },
		"without a profile": func(k *Stored) { k.Profile = nil },
		"without prices": func(k *Stored) {
			k.Profile = &plan.Profile{
				Machine: plan.DefaultProfile().Machine,
			}
		},
		"prices that are nothing": func(k *Stored) { k.Profile = plan.DefaultProfile(); k.Profile.Merge = -1 },
	} {
		var k Stored
		if err := json.Unmarshal(content, &k); err != nil {
			t.Fatal(err)
		}
		change(&k)
		if changed, err := json.Marshal(k); err != nil || os.WriteFile(kept.File, changed, 0o600) != nil {
			t.Fatal(err)
		}
		if p := Load().Profile; *p != *plan.DefaultProfile() {
			t.Errorf("%s: %+v", what, p)
		}
	}
	for what, text := range map[string]string{
		"empty":     "",
		"half":      string(content[:len(content)/2]),
		"no object": "[]",
	} {
		testfiles.Write(t, kept.File, []byte(text))
		if p := Load().Profile; *p != *plan.DefaultProfile() {
			t.Errorf("%s: %+v", what, p)
		}
	}
	testfiles.Write(t, kept.File, content)
	t.Setenv("EXTSORT_PROFILE", "default")
	if p := Load().Profile; *p != *plan.DefaultProfile() {
		t.Errorf("the default is asked for: %+v", p)
	}
}

func TestLimitMemory(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct{ limit, all, want int64 }{
		{16 << 20, 8 << 20, 16 << 20}, {gib, 2 * gib, gib}, {3 * gib, 8 * gib, 3 * gib}, {9 * gib, 8 * gib, 8 * gib},
		{9 * gib, gib / 2, gib}, {9 * gib, 0, 9 * gib}, // unknown
		{0, 8 * gib, 4 * gib}, {0, 20 << 20, 16 << 20}, {0, 0, gib},
	} {
		if got := LimitMemory(c.limit, 16<<20, func() int64 { return c.all }); got != c.want {
			t.Errorf("a limit of %d bytes where there are %d: %d, want %d", c.limit, c.all, got, c.want)
		}
	}
}

func TestParseMemory(t *testing.T) {
	all := Memory()
	for text, want := range map[string]int64{"100%": all, "50%": all / 2, "0.5G": 1 << 29} {
		if got, err := ParseMemory(text); err != nil || got != want {
			t.Errorf("%s is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0%", "0.0000000001%", "-1%", "101%", "NaN%", "%", "0.0001K"} {
		if got, err := ParseMemory(text); err == nil {
			t.Errorf("%s is %d, want an error", text, got)
		}
	}
}
