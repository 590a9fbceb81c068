package engine

import (
	"context"

	"github.com/extsort/extsort/chunker/plan"
)

// Strategies is the table of strategies with the function that runs each. A row of plan.Strategies describes when it
// can run. Tests add strategies of their own.
//
// A function must not write a record twice if the output cannot take that back. It returns a *plan.Impossible only
// while the input can still be read from the beginning.
var Strategies = map[plan.Strategy]func(context.Context, *Run, *plan.Candidate) error{
	plan.Copy:      runCopy,
	plan.Sift:      runSift,
	plan.InCore:    runMerge, // it makes no run if all records fit the first chunk
	plan.Reread:    runReread,
	plan.Merge:     runMerge,
	plan.Partition: runPartition,
	plan.Spread:    runSpread,
}
