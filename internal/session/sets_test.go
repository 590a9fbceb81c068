package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/sets"
)

// setFaultCases are set operations and joins in which every operation fails once. Their inputs are
// the same file twice.
func setFaultCases(t *testing.T) (cases []faultCase) {
	k := kindNamed("u64")
	sorted := reference(t, k.layout(t), k.make(t, "few", 150, seeded(t)), Options{})
	var counts []int
	for rest := sorted; len(rest) > 0; {
		n := 1
		for n*8 < len(rest) && bytes.Equal(rest[:8], rest[n*8:][:8]) {
			n++
		}
		counts = append(counts, n)
		rest = rest[n*8:]
	}
	var squares []byte
	rest := sorted
	for _, n := range counts {
		squares = append(squares, bytes.Repeat(rest[:8], n*n)...)
		rest = rest[n*8:]
	}

	add := func(name string, set SetOptions, want []byte) {
		cases = append(cases, faultCase{
			name: name,
			opt:  Options{Record: k.spec},
			data: sorted,
			want: want,
			run: func(ctx context.Context, opt Options) (*Report, error) {
				set := set
				set.Inputs = mergeOptions(opt)
				set.Inputs.Inputs = append(slices.Clone(opt.Inputs), opt.Inputs...)
				if set.Operation == sets.Compare {
					set.Both = opt.Output
					set.Inputs.Output = ""
				}
				report, err := Combine(ctx, set)
				if report == nil {
					return nil, err
				}
				return report.Report, err
			},
		})
	}
	add("union", SetOptions{Operation: sets.Union}, sorted)
	add("compare", SetOptions{Operation: sets.Compare}, sorted)
	add("join that spills", SetOptions{Operation: sets.Join}, squares)
	return cases
}

// setsChild names a variable that is set in the process that TestMemoryLimitOfSets starts.
const setsChild = "EXTSORT_TEST_SETS"

// setMemoryCases lists set operations and joins that exceed their memory limit if a use of memory
// is not counted.
var setMemoryCases = []struct {
	name    string
	spec    format.Spec
	mib     int64 // of each input
	dist    string
	inputs  int   // 0: 2
	limit   int64 // MiB; 0: 16
	spills  bool
	options func(dir string) SetOptions
}{
	{name: "union", spec: keySpec, mib: 64, dist: "sorted",
		options: func(string) SetOptions { return SetOptions{Operation: sets.Union} }},
	{name: "union of 60", spec: keySpec, mib: 2, dist: "sorted", inputs: 60,
		options: func(string) SetOptions { return SetOptions{Operation: sets.Union} }},
	{name: "intersect all, wide records", spec: wideSpec, mib: 64, dist: "sorted",
		options: func(string) SetOptions { return SetOptions{Operation: sets.Intersect, All: true} }},
	{name: "subtract from one key", spec: keySpec, mib: 32, dist: "constant",
		options: func(string) SetOptions { return SetOptions{Operation: sets.Subtract, All: true} }},
	{name: "compare with three outputs", spec: keySpec, mib: 64, dist: "sorted",
		options: func(dir string) SetOptions {
			return SetOptions{
				Operation: sets.Compare,
				OnlyA:     filepath.Join(dir, "a"),
				OnlyB:     filepath.Join(dir, "b"),
				Both:      filepath.Join(dir, "both"),
			}
		}},
	{name: "join", spec: gensortSpec, mib: 64, dist: "sorted",
		options: func(string) SetOptions {
			return SetOptions{Operation: sets.Join, JoinType: sets.OuterJoin, Rows: sets.RowOptions{Presence: true}}
		}},
	{name: "join of a large group", spec: wideSpec, mib: 4, dist: "constant", spills: true,
		options: func(string) SetOptions {
			return SetOptions{Operation: sets.Join, Rows: sets.RowOptions{Columns: []string{"a.0:u64"}}}
		}},
	{name: "sort, then subtract", spec: keySpec, mib: 64, dist: "uniform", limit: 64,
		options: func(string) SetOptions { return SetOptions{Operation: sets.Subtract, Sort: true} }},
}

// TestMemoryLimitOfSets runs set operations and joins with little memory, each in a separate
// process.
func TestMemoryLimitOfSets(t *testing.T) {
	if os.Getenv(setsChild) != "" {
		t.Skip("this is the process that combines")
	}
	if testing.Short() || raceEnabled || runtime.GOOS != "linux" {
		t.Skip("not in short mode, not with the race detector, and only where the system tells the memory in use")
	}
	for i, c := range setMemoryCases {
		t.Run(c.name, func(t *testing.T) {
			in := filepath.Join(t.TempDir(), "in")
			layout := kind{spec: c.spec}.layout(t)
			if c.dist == "constant" {
				if err := os.WriteFile(in, make([]byte, c.mib<<20), 0o600); err != nil {
					t.Fatal(err)
				}
			} else {
				writeGenerated(t, in, layout, c.dist, c.mib<<20)
			}
			child := exec.Command(os.Args[0], "-test.run", "^TestSetsInLittleMemory$", "-test.v")
			child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", setsChild, i, in))
			output, err := child.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, output)
			}
			t.Logf("%s", output)
		})
	}
}

// TestSetsInLittleMemory is the operation that TestMemoryLimitOfSets starts in a process.
func TestSetsInLittleMemory(t *testing.T) {
	var i int
	var in string
	if n, _ := fmt.Sscan(os.Getenv(setsChild), &i, &in); n != 2 {
		t.Skip("run by TestMemoryLimitOfSets")
	}
	debug.SetGCPercent(50) // as the command does
	c := setMemoryCases[i]
	set := c.options(t.TempDir())
	limit := max(c.limit, 16) << 20
	set.Inputs = MergeOptions{
		Record:        c.spec,
		MemoryBytes:   limit,
		Workers:       2,
		MeasureMemory: true,
		TempDirs:      []string{t.TempDir()},
	}
	for range max(c.inputs, 2) {
		set.Inputs.Inputs = append(set.Inputs.Inputs, in)
	}
	if set.Operation != sets.Compare {
		set.Inputs.Output = filepath.Join(t.TempDir(), "out")
	}
	report, err := Combine(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d KiB at the peak, %d spilled", c.name, report.Detail.PeakMemory>>10, report.BytesSpilled)
	if peak := report.Detail.PeakMemory; peak == 0 || peak > limit {
		t.Errorf("%d KiB of memory at the peak, the limit is %d KiB", peak>>10, limit>>10)
	}
	if spilled := report.BytesSpilled > 0; spilled != c.spills {
		t.Errorf("%d bytes were spilled", report.BytesSpilled)
	}
}
