package engine

import (
	"context"

	"github.com/extsort/extsort/chunker/plan"
)

// Strategies maps each strategy to the function that runs it. A row of plan.Strategies describes
// when it is possible. Tests add strategies of their own.
//
// A function must not write a record twice if the output cannot take it back. It returns a
// *plan.Impossible only while the input can still be read from the beginning.
var Strategies = map[plan.Strategy]func(context.Context, *Run, *plan.Candidate) error{
	plan.Copy:      runCopy,
	plan.Sift:      runSift,
	plan.Tally:     runTally,
	plan.InCore:    runInCore,
	plan.Reread:    runReread,
	plan.Merge:     runMerge,
	plan.Partition: runPartition,
	plan.Spread:    runSpread,
}
