package extsort

import "testing"

// TestPlanWaitsForTheDisk: what the system keeps in memory costs nothing, and more of it makes the strategy win that spills less.
func TestPlanWaitsForTheDisk(t *testing.T) {
	const records = 1 << 31 // 16 GiB
	p := planner{
		work:  work{records: records, size: 8, bare: true, workers: 16},
		rates: defaultRates, records: records, capacity: 1 << 26, cut: cutting{runs: 34, stays: 1 << 24}, fanIn: 64, fanOut: 64, merges: true,
	}
	of := func(s Strategy) float64 {
		for _, c := range p.weigh(Auto) {
			if c.Strategy == s {
				return c.Seconds
			}
		}
		t.Fatalf("%s is not weighed", s)
		return 0
	}
	merge, partition := of(MergeRuns), of(Partition)
	p.disk = diskCosts{holds: 40 << 30, spills: true, outputs: true}
	if of(MergeRuns) != merge || of(Partition) != partition {
		t.Error("what stays in memory is waited for")
	}
	p.disk.holds = 20 << 30
	waited := of(Partition) - partition
	if want := 12.0 * (1 << 30) / 1.5e9; waited < want-0.1 || waited > want+0.1 {
		t.Errorf("%.1f s are waited for 12 GiB, %.1f are due", waited, want)
	}
	p.disk.outputs = false // 16 GiB less are written
	if of(Partition) != partition {
		t.Error("an output that is not written here is waited for")
	}
	p.disk.outputs, p.disk.spills = true, false
	if of(Partition) != partition {
		t.Error("spill that goes to no disk is waited for")
	}
	p.disk.spills = true
	plain := of(MergeRuns)
	p.disk.packed, p.disk.keeps, p.disk.columns = true, 0.65, 1
	if packed := of(MergeRuns); packed > plain-3 || packed >= of(Partition) {
		t.Errorf("a merge takes %.1f s, %.1f with packed runs, a partition %.1f", plain, packed, of(Partition))
	}
}
