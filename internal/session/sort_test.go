package session

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/sorttest"
	"github.com/extsort/extsort/internal/testfiles"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random numbers of the tests; 0: a new one")

// TestMain makes the garbage collector run less often, because it would take a third of the time of
// these tests. Plans use default rates, so that a row has the same result on every machine.
func TestMain(m *testing.M) {
	if os.Getenv("EXTSORT_PROFILE") == "" {
		os.Setenv("EXTSORT_PROFILE", "default")
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}

// Most tests use chunks and blocks of these sizes, so that a few thousand records fill many chunks
// of several blocks.
const (
	testChunkRecords = 512
	testBlockBytes   = 1 << 10
)

// anyStrategy lists the strategies that can be requested on one device, with Auto. All of them
// produce the same bytes.
var anyStrategy = func() (all []Strategy) {
	for _, name := range plan.Requestable() {
		if s := Strategy(name); !s.Properties().ManyDevices {
			all = append(all, s)
		}
	}
	return all
}()

// TestAnyStrategyIsTested checks that anyStrategy lists every strategy that users can request,
// except Spread, which needs several devices.
func TestAnyStrategyIsTested(t *testing.T) {
	all := []Strategy{Auto}
	for _, row := range plan.Strategies {
		all = append(all, row.Name)
	}
	for _, strategy := range all {
		opt := Options{Record: format.Spec{Type: "u64"}, Strategy: strategy}
		accepted := opt.validate() == nil
		if tested := strategy == Spread || slices.Contains(anyStrategy, strategy); accepted != tested {
			t.Errorf("%s: options accept it: %t, it is tested: %t", strategy, accepted, tested)
		}
	}
}

// small makes chunks and blocks small.
func small(opt Options) Options {
	opt.faults.chunkRecords, opt.faults.blockBytes = testChunkRecords, testBlockBytes
	return opt
}

// variant sets options that must not change the sorted bytes: memory, workers, fan-in, strategy,
// compression of temporary files, and verification.
func variant(opt Options, size int, r *rand.Rand) Options {
	opt.MemoryBytes = int64(MinMemory + r.IntN(32<<20))
	opt.Workers = 1 + r.IntN(4)
	opt.BatchSize = []int{0, 2, 3, 7}[r.IntN(4)]
	opt.Strategy = anyStrategy[r.IntN(len(anyStrategy))]
	opt.SpillCompress = []string{"auto", "none", "delta", "s2", "zstd"}[r.IntN(5)]
	opt.Verify = r.IntN(3) == 0
	opt.faults.blockBytes = 3 * size << r.IntN(8)
	opt.faults.chunkRecords = int64(3<<r.IntN(8) + opt.faults.blockBytes/size)
	return opt
}

// describe shows what variant chose.
func describe(o Options) string {
	return fmt.Sprintf("memory %d, workers %d, batch %d, strategy %s, spill %s, verify %t, blocks of %d bytes, "+
		"chunks of %d records, %d inputs, %d sources, output %q, compress %q",
		o.MemoryBytes, o.Workers, o.BatchSize, o.Strategy, o.SpillCompress, o.Verify, o.faults.blockBytes,
		o.faults.chunkRecords, len(o.Inputs), len(o.Sources), filepath.Base(o.Output), o.Compress)
}

// dribble is a stream of data that arrives in pieces of various sizes.
type dribble struct {
	data []byte
	most int
}

func (d *dribble) Read(p []byte) (int, error) {
	if len(d.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 1+len(d.data)%d.most)], d.data)
	d.data = d.data[n:]
	return n, nil
}

func writeFile(t testing.TB, data []byte) string {
	t.Helper()
	return testfiles.Temp(t, "in", data)
}

func decompressed(t testing.TB, data []byte) []byte {
	t.Helper()
	plain, err := io.ReadAll(format.NewReader(bytes.NewReader(data), format.Detect(data), 8<<20))
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// sortToBytes sorts to a file or to standard output, as selected by opt, and returns the output.
func sortToBytes(t *testing.T, opt Options) ([]byte, *Report, error) {
	t.Helper()
	var stdout bytes.Buffer
	opt.Stdout = &stdout
	if opt.Stdin == nil {
		opt.Stdin = &bytes.Reader{}
	}
	if opt.TempDirs == nil {
		opt.TempDirs = []string{t.TempDir()}
	}
	report, err := Sort(context.Background(), opt)
	if opt.Output == "" || err != nil {
		return stdout.Bytes(), report, err
	}
	written, err := os.ReadFile(opt.Output)
	return written, report, err
}

// checkSort sorts data with opt and compares the output with the reference.
func checkSort(t *testing.T, k kind, data, want []byte, opt Options) *Report {
	t.Helper()
	got, report, err := sortToBytes(t, opt)
	if err != nil {
		t.Fatalf("%s, %d bytes, %s: %v", k.name, len(data), describe(opt), err)
	}
	if opt.Compress != "" && opt.Compress != "none" {
		got = decompressed(t, got)
	}
	if size := k.layout(t).RecordSize; !bytes.Equal(got, want) {
		t.Fatalf("%s, %d bytes, %s: %d bytes came, %d are due; the first difference is in record %d",
			k.name, len(data), describe(opt), len(got), len(want),
			sorttest.FirstDifference(got, want, size))
	}
	return report
}

// effort returns the number of repetitions of a random test: n, or fewer in short mode.
func effort(n int) int {
	if testing.Short() || testfiles.Race {
		return max(n/4, 1)
	}
	return n
}

// TestOptionsOfCallsAreThoseOfASort checks that the options of other calls have fields with the
// same names and types as Options.
func TestOptionsOfCallsAreThoseOfASort(t *testing.T) {
	all := reflect.TypeFor[Options]()
	for _, c := range []struct {
		of  reflect.Type
		own []string
	}{
		{reflect.TypeFor[MergeOptions](), []string{"Cuts", "setOperation"}},
		{reflect.TypeFor[CheckOptions](), []string{"Input", "Brief"}},
	} {
		var own []string
		for field := range c.of.Fields() {
			if same, ok := all.FieldByName(field.Name); !ok {
				own = append(own, field.Name)
			} else if same.Type != field.Type {
				t.Errorf("%s.%s is a %v, and that of a sort a %v", c.of, field.Name, field.Type, same.Type)
			}
		}
		if !slices.Equal(own, c.own) {
			t.Errorf("%s has fields of its own: %q, want %q", c.of, own, c.own)
		}
	}
}
