package session

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/extsort/extsort/format"
)

var gridBytes = flag.Int64("grid-bytes", 256<<20, "size of the files of BenchmarkPlanner")

// BenchmarkPlanner compares the planner's choice with every strategy that can be forced, over a
// grid of records, distributions and memory limits. The strategies take turns. The benchmark
// reports their median times in seconds. regret is the median time of the chosen strategy, divided
// by the best median time.
//
//	go test -run - -bench Planner -benchtime 5x ./internal/session -args -grid-bytes 1073741824
func BenchmarkPlanner(b *testing.B) {
	size, dists, kinds := *gridBytes, []string{"uniform", "zipf", "nearly-sorted", "reversed"}, plannerKinds()
	if testing.Short() {
		size, dists, kinds = 64<<20, dists[:1], kinds[:1] // a quarter of it is the smallest possible memory limit
	}
	for _, k := range kinds {
		for _, dist := range dists {
			b.Run(fmt.Sprintf("key=%s/dist=%s", k.name, dist), func(b *testing.B) {
				input := filepath.Join(b.TempDir(), "in")
				writeGenerated(b, input, k.layout(b), dist, size)
				for _, part := range []int64{2, 4, 16} {
					if limit := size / part; limit >= MinMemory {
						b.Run(fmt.Sprintf("memory=1:%d", part), func(b *testing.B) {
							benchmarkPlanner(b, Options{Record: k.spec, Inputs: []string{input}, MemoryBytes: limit})
						})
					}
				}
			})
		}
	}
}

// plannerKinds returns bare keys, small records that are moved in words of either size, and large
// records.
func plannerKinds() []kind {
	return []kind{
		kindNamed("u32be"), kindNamed("u64"),
		{"rec8", format.Spec{RecordSize: 8, Keys: []string{"0:u32"}}}, kindNamed("rec12"),
		{"rec16", format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}},
		kindNamed("gensort"),
	}
}

func benchmarkPlanner(b *testing.B, opt Options) {
	folder := b.TempDir()
	opt.Devices, opt.Output, opt.TempDirs = []string{"cpu"}, filepath.Join(folder, "out"), []string{folder}
	seconds := map[Strategy][]float64{}
	var chosen Strategy
	forced := []Strategy{MergeRuns, Partition}
	if canForce(b, opt, Reread) {
		forced = append(forced, Reread)
	}
	strategies := append([]Strategy{Auto}, forced...)
	for b.Loop() {
		first := strategies[0] // a different one every time, because the first run faults in memory
		strategies = append(strategies[1:], first)
		for _, strategy := range strategies {
			opt.Strategy = strategy
			os.Remove(opt.Output) // otherwise, the next sort would pay for replacing the file
			start := time.Now()
			report, err := Sort(b.Context(), opt)
			if err != nil {
				b.Fatal(err)
			}
			seconds[strategy] = append(seconds[strategy], time.Since(start).Seconds())
			if strategy == Auto {
				chosen = report.Strategy
			}
		}
	}
	auto := seconds[Auto]
	seconds[chosen] = append(seconds[chosen], auto...) // the runs with auto used this strategy, too
	b.ReportMetric(median(auto), "auto-s")
	best := math.Inf(1)
	for _, strategy := range forced {
		m := median(seconds[strategy])
		b.ReportMetric(m, string(strategy)+"-s")
		best = min(best, m)
	}
	b.ReportMetric(median(seconds[chosen])/best, "regret")
	b.Logf("the planner chose %s", chosen)
}

// canForce reports whether a sort runs with the strategy if it is requested.
func canForce(b *testing.B, opt Options, strategy Strategy) bool {
	opt.Strategy = strategy
	plan, err := Plan(b.Context(), opt)
	if err != nil {
		b.Fatal(err)
	}
	return plan.Strategy == strategy
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
