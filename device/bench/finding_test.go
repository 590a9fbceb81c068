package bench

import (
	"testing"

	"github.com/extsort/extsort/device/opencl"
)

func TestFinding(t *testing.T) {
	result := func(label string, word int, n int64, rate float64) Result {
		return Result{Case: Case{Label: label, Key: opencl.KeyKind{WordBytes: word}, Dist: "uniform", Records: n}, Rate: rate}
	}
	for _, c := range []struct {
		name    string
		results []Result
		want    string
	}{
		{"the largest size counts",
			[]Result{result("slow", 4, 1024, 9e9), result("fast", 4, 4096, 2e7), result("slow", 4, 4096, 1e7)},
			"fast sorts 2^12 keys of u32, uniform, at 20.0 Mkeys/s,\n2.0 times as fast as slow, the next."},
		{"one algorithm", []Result{result("msd", 8, 256, 5e6)}, "msd sorts 2^8 keys of u64, uniform, at 5.00 Mkeys/s."},
		{"the one that wins more often",
			[]Result{result("a", 4, 64, 2e6), result("b", 4, 64, 1e6), result("b", 8, 64, 3e6), result("b", 16, 64, 3e6)},
			"b sorts 2^6 keys of u64, uniform, at 3.00 Mkeys/s;\nit is the fastest for 2 of 3 kinds of data."},
		{"a failure is told", []Result{result("a", 4, 64, 2e6), {Error: "wrong result"}},
			"a sorts 2^6 keys of u32, uniform, at 2.00 Mkeys/s; 1 of 2 cases failed."},
		{"nothing", []Result{{Error: "wrong result"}, {Skipped: "too long"}}, "Nothing could be timed: 1 of 2 cases failed."},
	} {
		if got := (Report{Results: c.results}).Finding(); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}
