package extsort

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/extsort/extsort/format"
)

// memoryChild is set in the process that sorts: only a process of its own has a peak that is the sort's alone.
const memoryChild = "EXTSORT_TEST_MEMORY"

const (
	memoryLimit = 64 << 20
	keepLimit   = 240 << 20 // a little less than the data
	memoryData  = 300 << 20
	memorySlack = 64 << 20 // what a run may take beyond its limit
)

// TestMemoryLimit sorts 300 MiB with 64 MiB of memory, each strategy and way of input in a process of its own.
func TestMemoryLimit(t *testing.T) {
	if os.Getenv(memoryChild) != "" {
		t.Skip("this is the process that sorts")
	}
	if testing.Short() || raceEnabled || runtime.GOOS != "linux" {
		t.Skip("not in short mode, not with the race detector, and only where the system tells the memory in use")
	}
	k := kindNamed("gensort")
	in := filepath.Join(t.TempDir(), "in")
	writeGenerated(t, in, k.layout(t), "uniform", memoryData)
	for _, mode := range []string{"merge", "partition", "pipe", "keep"} {
		child := exec.Command(os.Args[0], "-test.run", "^TestSortInLittleMemory$", "-test.v")
		child.Env = append(os.Environ(), memoryChild+"="+mode+" "+in)
		if output, err := child.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", mode, err, output)
		}
	}
}

// TestSortInLittleMemory is the sort of TestMemoryLimit.
func TestSortInLittleMemory(t *testing.T) {
	var mode, in string
	if n, _ := fmt.Sscan(os.Getenv(memoryChild), &mode, &in); n != 2 {
		t.Skip("run by TestMemoryLimit")
	}
	opt := Options{Record: kindNamed("gensort").spec, Inputs: []string{in}, MemoryBytes: memoryLimit, Verify: true,
		Output: filepath.Join(t.TempDir(), "out"), TempDirs: []string{t.TempDir()}}
	limit, slack, spill := int64(memoryLimit), int64(memorySlack), int64(memoryData*105/100)
	switch mode {
	case "keep":
		limit, slack, spill = keepLimit, memorySlack/8, memoryData/2
		opt.MemoryBytes = limit
	case "pipe":
		file, err := os.Open(in)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		opt.Inputs, opt.Stdin = nil, onlyReader{file}
	default:
		opt.Strategy = Strategy(mode)
	}
	report, err := Sort(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d MiB at the peak, %d MiB spilled", mode, report.PeakMemory>>20, report.BytesSpilled>>20)
	if report.PeakMemory == 0 || report.PeakMemory > limit+slack {
		t.Errorf("%d MiB of memory at the peak, the limit is %d MiB", report.PeakMemory>>20, limit>>20)
	}
	if report.BytesSpilled > spill {
		t.Errorf("%d MiB were spilled of %d MiB, %d are due", report.BytesSpilled>>20, memoryData>>20, spill>>20)
	}
}

// onlyReader hides that a file is one.
type onlyReader struct{ f *os.File }

func (o onlyReader) Read(p []byte) (int, error) { return o.f.Read(p) }

// writeGenerated writes records of a distribution, of about so many bytes.
func writeGenerated(t testing.TB, name string, l format.Layout, dist string, bytes int64) {
	t.Helper()
	records := bytes / int64(l.RecordSize)
	g, err := format.NewGenerator(l, dist, 1, records)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buffer := make([]byte, 10000*l.RecordSize)
	for first := int64(0); first < records; first += 10000 {
		recs := buffer[:min(10000, records-first)*int64(l.RecordSize)]
		g.Fill(recs, first)
		if _, err := f.Write(recs); err != nil {
			t.Fatal(err)
		}
	}
}
