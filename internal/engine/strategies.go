package engine

import (
	"context"

	"github.com/extsort/extsort/chunker/plan"
)

// strategies is the table of ways to sort, with the function that runs each. A row of plan.Strategies describes when it
// can run. No function writes a record twice if the output cannot take that back.
var strategies = map[plan.Strategy]func(context.Context, *Run, *plan.Candidate) error{
	plan.Copy:      runCopy,
	plan.Sift:      runSift,
	plan.InCore:    runMerge, // it makes no run if all records fit the first chunk
	plan.Reread:    runReread,
	plan.Merge:     runMerge,
	plan.Partition: runPartition,
	plan.Spread:    runSpread,
}
