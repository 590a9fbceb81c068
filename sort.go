package extsort

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sort sorts the inputs into the output: plan, cut into chunks, sort them, make one order of them, finish.
func Sort(ctx context.Context, opt Options) (*Report, error) {
	start, memory := time.Now(), startPeakSampler()
	j, err := newJob(ctx, opt)
	if err != nil {
		memory.end()
		return nil, err
	}
	out, err := j.openOutput()
	j.meter.note(stageStart, since(start))
	if err == nil {
		err = j.sortInto(ctx, out)
		if err = j.finish(ctx, out, err); j.retryOnCPU(ctx, out, err) {
			memory.end()
			return j.sortOnCPU(ctx, opt, err)
		}
	}
	err = errors.Join(err, j.close())
	return j.fillReport(start, memory.end()), err
}

// sortOnCPU begins the sort again on the CPU after the GPU, which the planner had chosen, failed.
func (j *job) sortOnCPU(ctx context.Context, opt Options, cause error) (*Report, error) {
	j.opt.Warn(fmt.Sprintf("%s failed, sorting on the CPU instead: %v", j.plan.Device, cause))
	if err := j.close(); err != nil {
		return nil, err
	}
	opt.Devices, opt.faults.chosenGPU = []string{deviceCPU}, false
	report, err := Sort(ctx, opt)
	if report != nil {
		report.FallbackReason = cause.Error()
	}
	return report, err
}

// sortInto writes the sorted records to out, in the way that was planned.
func (j *job) sortInto(ctx context.Context, out *output) error {
	s := &sorting{job: j, pool: newPool(j), out: out}
	defer s.pool.close()
	if j.plan.Strategy == Copy {
		if done, err := s.byCopy(ctx, out); done || err != nil {
			return err
		}
		j.ordered, j.mirrored = false, false
		j.plan = j.newPlan()
	}
	if j.plan.Strategy == Spread {
		if done, err := s.bySpread(ctx, out); done || err != nil {
			return err
		}
		j.plan = j.newPlan().without(Spread)
	}
	if s.inPasses(out) {
		if done, err := s.byPasses(ctx, out); done || err != nil {
			return err
		}
	}
	if j.plan.Strategy == Reread {
		j.plan = j.newPlan().without(Reread)
	}
	if j.plan.Strategy == Partition {
		j.report.Strategy = Partition
		return s.byPartition(ctx, j.data, j.keys(), j.plan.Chunks, out.BlockWriter)
	}
	j.report.Strategy = InCore // until a second chunk is needed
	return s.byMerge(ctx, j.data, out.BlockWriter)
}

// fillReport completes the report with what the run as a whole was.
func (j *job) fillReport(start time.Time, peak int64) *Report {
	r := &j.report
	r.MemoryLimit, r.PeakMemory = j.opt.MemoryBytes, peak
	r.Device, r.Plan, r.Phases = j.plan.Device, j.plan, j.meter.phases
	r.Seconds, r.Algorithm = since(start), joinAlgorithms(j.stats)
	longest := 0.0
	for _, p := range r.Phases {
		if p.Seconds > longest {
			longest, r.Limiting = p.Seconds, p.Name
		}
	}
	return r
}
