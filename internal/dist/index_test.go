package dist

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/testfiles"
	"github.com/extsort/extsort/merge"
)

// indexedPlan returns a plan of sorted runs in memory, with their indexes in files.
func indexedPlan(t *testing.T, spec format.Spec, dist string, n int64, runs, parts int) (*Worker, [][]byte) {
	t.Helper()
	p := &Plan{Record: spec, Records: n, Runs: runs, Parts: parts, IndexEvery: indexEvery(n, runs, parts)}
	p.folder = t.TempDir()
	var err error
	if p.keyer, err = keyerOf(p); err != nil {
		t.Fatal(err)
	}
	size := int64(p.keyer.Layout().RecordSize)
	generator := formattest.Generator(t, p.keyer.Layout(), dist, 3, n)
	data := make([]byte, n*size)
	generator.Fill(data, 0)
	if err := os.Mkdir(p.path("runs"), 0o777); err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for k := range runs {
		from, to := partOf(k, runs).Of(n)
		recs := slices.Collect(slices.Chunk(data[from*size:to*size], int(size)))
		slices.SortStableFunc(recs, p.keyer.Compare)
		run, x := bytes.Join(recs, nil), newIndex(p, k)
		// In blocks in any order, like verification.
		for _, first := range rand.Perm(len(recs)/7 + 1) {
			x.add(int64(first*7), run[int64(first*7)*size:min(int64(first*7+7)*size, int64(len(run)))])
		}
		var file bytes.Buffer
		if err := x.write(&file); err != nil {
			t.Fatal(err)
		}
		testfiles.Write(t, indexFile(p.runFile(k)), file.Bytes())
		all = append(all, run)
	}
	return &Worker{Plan: p, Tell: func(string) {}}, all
}

// counted returns runs in memory that count their reads.
func counted(runs [][]byte, size int, calls, records *atomic.Int64) (all []merge.Sorted) {
	for _, run := range runs {
		all = append(all, merge.Sorted{Records: int64(len(run) / size), ReadRecords: func(p []byte, first int64) error {
			calls.Add(1)
			records.Add(int64(len(p) / size))
			copy(p, run[int(first)*size:])
			return nil
		}})
	}
	return all
}

// TestIndexedCutsAreExact compares cuts found by indexes with cuts found without. Finding
// brackets must read nothing of the runs, and finding exact cuts about two blocks of each run. Short tests
// have a fifth of the combinations, with each value.
func TestIndexedCutsAreExact(t *testing.T) {
	number := -1
	for _, dist := range []string{"uniform", "zipf", "few", "equal", "sorted"} {
		for _, n := range []int64{1, 100, 3_000} {
			for _, runs := range []int{1, 2, 7, 64} {
				for _, parts := range []int{1, 5, 24} {
					number++
					if testing.Short() && number%5 > 0 {
						continue
					}
					w, data := indexedPlan(t, pairs, dist, n, runs, parts)
					testIndexedCuts(
						t,
						w,
						data,
						fmt.Sprintf("%s, %d records in %d runs and %d parts", dist, n, runs, parts),
					)
				}
			}
		}
	}
}

func testIndexedCuts(t *testing.T, w *Worker, data [][]byte, name string) {
	t.Helper()
	p := w.Plan
	var calls, records atomic.Int64
	runs := counted(data, p.keyer.Layout().RecordSize, &calls, &records)
	levels, err := indexes(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	found, err := w.brackets(t.Context(), levels, 0, p.Parts)
	if err != nil || calls.Load() > 0 {
		t.Fatalf("%s: %v, %d reads of the runs", name, err, calls.Load())
	}
	var ranks []int64
	for k := range found {
		ranks = append(ranks, rank(p, k))
	}
	want, err := merge.Cuts(t.Context(), p.keyer, runs, ranks, false)
	if err != nil {
		t.Fatal(err)
	}
	for k, c := range found {
		calls.Store(0)
		records.Store(0)
		got, err := w.cutInBracket(t.Context(), runs, c, rank(p, k))
		if err != nil || !slices.Equal(got, want[k]) {
			t.Fatalf("%s: cut %d at %v, want %v, %v", name, k, got, want[k], err)
		}
		if calls.Load() > int64(p.Runs) || records.Load() > int64(p.Runs)*(2*p.IndexEvery+1) {
			t.Errorf("%s: cut %d took %d records, by %d reads", name, k, records.Load(), calls.Load())
		}
	}
}

// TestIndexedCutsInLittleMemory has memory for only one record of each run.
func TestIndexedCutsInLittleMemory(t *testing.T) {
	w, data := indexedPlan(t, pairs, "zipf", 20_000, 7, 5)
	w.Options.MemoryBytes = 1
	var calls, records atomic.Int64
	runs := counted(data, 16, &calls, &records)
	levels, err := indexes(t.Context(), w.Plan)
	if err != nil {
		t.Fatal(err)
	}
	found, err := w.brackets(t.Context(), levels, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range found {
		want, _ := merge.Cuts(t.Context(), w.Plan.keyer, runs, []int64{rank(w.Plan, 2+i)}, false)
		calls.Store(0)
		got, err := w.cutInBracket(t.Context(), runs, c, rank(w.Plan, 2+i))
		if err != nil || !slices.Equal(got, want[0]) || calls.Load() > 7*9 {
			t.Errorf("cut %d at %v by %d reads, want %v, %v", i, got, calls.Load(), want[0], err)
		}
	}
}

// TestCutReadsNoRuns replaces the runs with zeros while they are cut.
func TestCutReadsNoRuns(t *testing.T) {
	c := newCluster(t, pairs, "zipf", 40_000, nil)
	c.ok(c.Run(t.Context(), partOf(0, 1)))
	for k := range c.Plan.Runs {
		name := c.Plan.runFile(k)
		data := testfiles.Read(t, name)
		c.ok(os.Rename(name, name+".away"))
		testfiles.Write(t, name, make([]byte, len(data)))
	}
	c.ok(c.Cut(t.Context(), partOf(0, 1)))
	for k := range c.Plan.Runs {
		c.ok(os.Rename(c.Plan.runFile(k)+".away", c.Plan.runFile(k)))
	}
	var told []string
	c.Tell = func(line string) { told = append(told, line) }
	c.all(2)
	c.check()
	if i := slices.IndexFunc(told, func(line string) bool { return strings.Contains(line, "searched") }); i >= 0 {
		t.Error(told[i])
	}
}

// TestDamagedIndexDoesNoHarm uses wrong indexes and brackets, and truncated or missing indexes.
func TestDamagedIndexDoesNoHarm(t *testing.T) {
	damage := func(change func(data []byte) []byte) func(c *cluster) {
		return func(c *cluster) {
			name := indexFile(c.Plan.runFile(3))
			testfiles.Write(t, name, change(testfiles.Read(t, name)))
		}
	}
	random := rand.NewChaCha8([32]byte{})
	for name, test := range map[string]struct {
		before, behind func(c *cluster) // before and after Cut
		want           string
	}{
		"zeros":    {damage(func(b []byte) []byte { return make([]byte, len(b)) }), nil, "does not fit"},
		"ones":     {damage(func(b []byte) []byte { return bytes.Repeat([]byte{255}, len(b)) }), nil, "does not fit"},
		"reversed": {damage(func(b []byte) []byte { slices.Reverse(b); return b }), nil, "does not fit"},
		"random":   {damage(func(b []byte) []byte { random.Read(b); return b }), nil, "does not fit"},
		"short":    {damage(func(b []byte) []byte { return b[1:] }), nil, "an index cannot be used: /"},
		"missing": {
			func(c *cluster) { c.ok(os.Remove(indexFile(c.Plan.runFile(7)))) },
			nil,
			"00007.idx: no such file",
		},
		"brackets": {nil, func(c *cluster) {
			wrong := &cut{Schema: schema, Plan: c.Plan.Fingerprint, At: []int64{1}, To: []int64{0}}
			c.ok(writeJSON(t.Context(), c.Plan.recordFile(cuts, 4), wrong))
		}, "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, pairs, "zipf", 40_000, nil)
			var told strings.Builder
			c.Tell = func(line string) { told.WriteString(line) }
			c.ok(c.Run(t.Context(), partOf(0, 1)))
			if test.before != nil {
				test.before(c)
			}
			c.ok(c.Cut(t.Context(), partOf(0, 1)))
			if test.behind != nil {
				test.behind(c)
			}
			c.all(1)
			c.check()
			if !strings.Contains(told.String(), test.want) {
				t.Errorf("%s: not told", name)
			}
		})
	}
}

// TestIndexThatCannotBeWritten checks that an index that cannot be written fails the run, and one
// that cannot be read fails the cut.
func TestIndexThatCannotBeWritten(t *testing.T) {
	c := newCluster(t, pairs, "zipf", 4_000, nil)
	c.ok(os.Mkdir(indexFile(c.Plan.runFile(2)), 0o777))
	if err := c.Run(t.Context(), partOf(0, 1)); err == nil || !strings.Contains(err.Error(), "00002.idx") {
		t.Errorf("error %v", err)
	}
	if r, err := c.Plan.record(runs, 2); r != nil || err != nil {
		t.Errorf("the run is done: %v, %v", r, err)
	}
	c.ok(os.Remove(indexFile(c.Plan.runFile(2))))
	c.ok(c.Run(t.Context(), partOf(0, 1)))
	levels, err := indexes(t.Context(), c.Plan)
	c.ok(err)
	c.ok(os.Remove(indexFile(c.Plan.runFile(2))))
	if _, err = c.brackets(
		t.Context(),
		levels,
		0,
		8,
	); err == nil || !strings.Contains(err.Error(), "00002.idx: no such") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = c.brackets(ctx, levels, 0, 8); err == nil {
		t.Error("is not cancelled")
	}
}
