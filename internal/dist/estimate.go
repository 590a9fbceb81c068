package dist

import (
	"math"

	"github.com/extsort/extsort/chunker/plan"
)

// Estimate says what a plan costs.
type Estimate struct {
	Moved      int64   // bytes read, and as many written, by all tasks
	RunSeconds float64 // of one task that sorts a run, on a machine of a profile
	Merge      float64 // seconds of one task that merges a part
}

// Estimate predicts from the rates of a machine with so many workers: a task takes as long as its disk, or, where that
// takes longer, its processors. A shared file system that is slower than the disk of the profile makes it slower.
func (p *Plan) Estimate(machine *plan.Profile, workers int) Estimate {
	size, power := float64(p.RecordBytes), math.Pow(float64(workers), machine.SortPower)
	task := func(tasks int, seconds float64) float64 {
		records := float64(p.Records) / float64(tasks)
		return machine.Start + machine.Sync + records*max(2*size/machine.DiskBytes, seconds/power)
	}
	levels := math.Ceil(math.Log2(float64(max(p.Runs, 2))))
	return Estimate{
		Moved:      2 * p.Records * int64(p.RecordBytes),
		RunSeconds: task(p.Runs, machine.Sort+machine.Gather+size/machine.CopyBytes),
		Merge:      task(p.Parts, levels*machine.Refer+machine.Follow+size/machine.CopyBytes),
	}
}
