package session

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// BenchmarkSort sorts from file to file. Merge and partition work on chunks of a quarter of the
// records.
func BenchmarkSort(b *testing.B) {
	large := 1 << 20
	if testing.Short() {
		large >>= 4
	}
	for _, name := range []string{"u64", "u32be", "rec12", "gensort"} {
		for _, n := range []int{1 << 10, large} {
			for _, dist := range []string{"uniform", "zipf", "sorted"} {
				for _, strategy := range []Strategy{Auto, MergeRuns, Partition} {
					count := map[int]string{1 << 10: "1Ki", 1 << 16: "64Ki", 1 << 20: "1Mi"}[n]
					b.Run(fmt.Sprintf("device=cpu/key=%s/n=%s/dist=%s/strategy=%s", name, count, dist, strategy), func(b *testing.B) {
						benchmarkSort(b, kindNamed(name), n, dist, strategy)
					})
				}
			}
		}
	}
}

func benchmarkSort(b *testing.B, k kind, n int, dist string, strategy Strategy) {
	data := k.make(b, dist, n, rand.New(rand.NewPCG(1, 1)))
	folder := b.TempDir()
	opt := Options{Record: k.spec, Inputs: []string{filepath.Join(folder, "in")}, Output: filepath.Join(folder, "out"),
		TempDirs: []string{folder}, Devices: []string{"cpu"}}
	testfiles.Write(b, opt.Inputs[0], data)
	if strategy != Auto {
		opt.Strategy = strategy
		opt.faults.blockBytes = min(len(data)/16, 256<<10)
		opt.faults.chunkRecords = int64(n / 4)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		report, err := Sort(b.Context(), opt)
		if err != nil {
			b.Fatal(err)
		}
		if report.RecordsOut != int64(n) {
			b.Fatalf("%d of %d records came out", report.RecordsOut, n)
		}
	}
}
