package session

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
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

// joinContainers lists files of four records of 4 bytes, or 8 with a dimension, in each container.
var joinContainers = []struct {
	spec  format.Spec
	plain format.Spec // of the same records without the container
	file  func(t *testing.T, recs []byte) []byte
	recs  string
}{
	{
		spec:  format.Spec{Format: "npy"},
		plain: format.Spec{Type: "u32be"},
		file:  func(t *testing.T, recs []byte) []byte { return npyFile(t, "u32be", recs, 4) },
		recs:  "aaaabbbbbbbbcccc",
	},
	{
		spec:  format.Spec{Format: "npz"},
		plain: format.Spec{Type: "u32be"},
		file:  zippedArray,
		recs:  "aaaabbbbbbbbcccc",
	},
	{
		spec:  format.Spec{Format: "sosd", Type: "u32"},
		plain: format.Spec{Type: "u32"},
		file: func(_ *testing.T, recs []byte) []byte {
			return append([]byte("\x04\x00\x00\x00\x00\x00\x00\x00"), recs...)
		},
		recs: "aaaabbbbbbbbcccc",
	},
	{
		spec:  format.Spec{Format: "fbin", Keys: []string{"0"}},
		plain: format.Spec{Type: "f32"},
		file: func(_ *testing.T, recs []byte) []byte {
			return append([]byte("\x04\x00\x00\x00\x01\x00\x00\x00"), recs...)
		},
		recs: "aaaabbbbbbbbcccc",
	},
	{
		spec:  format.Spec{Format: "fvecs", Keys: []string{"0"}},
		plain: format.Spec{RecordSize: 8, Keys: []string{"4:f32"}},
		file:  func(_ *testing.T, recs []byte) []byte { return recs },
		recs:  "\x01\x00\x00\x00aaaa\x01\x00\x00\x00bbbb\x01\x00\x00\x00bbbb\x01\x00\x00\x00cccc",
	},
}

// zippedArray returns an archive with one array of big-endian numbers.
func zippedArray(t *testing.T, recs []byte) []byte {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	member, err := w.CreateHeader(&zip.FileHeader{Name: "keys.npy", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := member.Write(npyFile(t, "u32be", recs, 4)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// TestJoinRowsHaveNoHeader joins files with headers. The rows are those of a join of the same
// records without headers: a header of an input does not describe them.
func TestJoinRowsHaveNoHeader(t *testing.T) {
	t.Parallel()
	rowOptions := map[string]sets.RowOptions{
		"all columns": {},
		"presence":    {Presence: true},
		"both":        {Columns: []string{"a", "b"}},
	}
	for _, c := range joinContainers {
		dir := t.TempDir()
		write := func(name string, data []byte) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		recs := []byte(c.recs)
		contained := write("contained", c.file(t, recs))
		plain := write("plain", recs)

		for name, rows := range rowOptions {
			for _, join := range []sets.JoinType{sets.InnerJoin, sets.LeftJoin, sets.RightJoin, sets.OuterJoin} {
				rowsOf := func(spec format.Spec, a, b string, right *MergeOptions) string {
					t.Helper()
					var out bytes.Buffer
					set := SetOptions{Operation: sets.Join, JoinType: join, Rows: rows, Right: right}
					set.Inputs = MergeOptions{Record: spec, Inputs: []string{a, b}, Stdout: &out}
					if right != nil {
						set.Inputs.Inputs = []string{a}
					}
					report, err := Combine(t.Context(), set)
					if err != nil {
						t.Fatalf("%v, %s, join type %v: %v", spec, name, join, err)
					}
					if report.BytesWritten != int64(out.Len()) {
						t.Errorf("%v, %s, join type %v: the report has %d bytes, but the output has %d",
							spec, name, join, report.BytesWritten, out.Len())
					}
					return out.String()
				}
				want := rowsOf(c.plain, plain, plain, nil)
				if got := rowsOf(c.spec, contained, contained, nil); got != want {
					t.Errorf("%v, %s, join type %v: got %q, want %q", c.spec, name, join, got, want)
				}
				ofPlain := &MergeOptions{Record: c.plain, Inputs: []string{plain}}
				if got := rowsOf(c.spec, contained, "", ofPlain); got != want {
					t.Errorf("%v and plain records, %s, join type %v: got %q, want %q", c.spec, name, join, got, want)
				}
			}
		}
	}
}

// TestSetsThatKeepNoHeader lists operations that cannot copy a header to their output.
func TestSetsThatKeepNoHeader(t *testing.T) {
	t.Parallel()
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("HEADaabbcc"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, set := range map[string]SetOptions{
		"join":            {Operation: sets.Join},
		"join with Right": {Operation: sets.Join, Right: &MergeOptions{}},
		"sorted union":    {Operation: sets.Union, Sort: true},
	} {
		var out bytes.Buffer
		set.Inputs = MergeOptions{
			Record:     format.Spec{Type: "u16"},
			Inputs:     []string{in, in},
			SkipBytes:  4,
			KeepHeader: true,
			Stdout:     &out,
		}
		if set.Right != nil {
			set.Inputs.Inputs = []string{in}
			set.Right.Record = set.Inputs.Record
			set.Right.Inputs = []string{in}
			set.Right.SkipBytes = 4
		}
		_, err := Combine(t.Context(), set)
		bad, ok := errors.AsType[*option.Error](err)
		if !ok || bad.Field != option.KeepHeader || out.Len() > 0 {
			t.Errorf("%s: %v; it wrote %q", name, err, out.Bytes())
		}
	}
}

// TestKeysThatDiffer compares inputs whose keys have different orders.
func TestKeysThatDiffer(t *testing.T) {
	t.Parallel()
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("aaaabbbb"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, of := range map[string][2]format.Spec{
		"types: [f32] and [u32be]":             {{Type: "f32"}, {Type: "u32be"}},
		"types: [f32] and [i32:desc]":          {{Type: "f32"}, {RecordSize: 4, Keys: []string{"0:i32:desc"}}},
		"types: [f32] and [f32 u8]":            {{Type: "f32"}, {RecordSize: 8, Keys: []string{"0:f32", "4:u8"}}},
		"directions: [f32] and [f32be:desc]":   {{Type: "f32"}, {RecordSize: 4, Keys: []string{"0:f32be:desc"}}},
		"orders of NaNs or zeros":              {{Type: "f32"}, {Type: "f32", NaN: "first"}},
		"orders of NaNs or zeros: give the sa": {{Type: "f32be"}, {Type: "f32", Float: "numeric"}},
	} {
		_, err := Combine(t.Context(), SetOptions{
			Operation: sets.Compare,
			Inputs:    MergeOptions{Record: of[0], Inputs: []string{in}},
			Right:     &MergeOptions{Record: of[1], Inputs: []string{in}},
		})
		if err == nil || !strings.Contains(err.Error(), " have different "+want) {
			t.Errorf("%v and %v: the error is %v, want %q", of[0], of[1], err, want)
		}
	}
}

// TestCompareFilesAppearTogether fails each operation of a comparison that writes three files. After
// an error, either all of them are complete or none has appeared.
func TestCompareFilesAppearTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.WriteFile(in, []byte("aabbcc"), 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "both")}
	for failAt := int64(0); ; failAt++ {
		injected := &injector{failAt: failAt}
		inputs := Options{Record: format.Spec{Type: "u16"}, Inputs: []string{in, in}}
		inputs.faults.output = injected.step
		set := SetOptions{Operation: sets.Compare, OnlyA: names[0], OnlyB: names[1], Both: names[2]}
		set.Inputs = mergeOptions(inputs)
		_, err := Combine(t.Context(), set)
		found := 0
		for _, name := range names {
			if os.Remove(name) == nil {
				found++
			}
		}
		if found != 0 && found != len(names) || err == nil && found == 0 {
			t.Errorf("operation %d, %s: %d files have appeared, and the error is %v", failAt, injected.operation(), found, err)
		}
		if injected.failed.Load() == nil {
			break
		}
	}
}
