package extsort

import (
	"context"
	"log/slog"

	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/merge/sets"
)

// A SetJob describes a set operation on sorted inputs, or a join. Operation, Input and Record are
// required, and so is Output unless the operation is SetCompare. Fields without a comment have the
// same meaning as in MergeJob.
//
// The first input is called A, and the second one B.
type SetJob struct {
	Operation SetOperation

	// All counts occurrences, as SQL's ALL does: SetUnion writes all records, SetIntersect as many
	// records of A as each input has, and SetSubtract leaves out one record of A for each record of
	// the others.
	All bool

	Input   Input // two inputs or more, each of which is sorted; SetCompare and joins need exactly two
	Record  Record
	Reverse bool

	// Right contains the inputs after the first, if their records have another layout:
	// RightRecord. Input is A alone. The types and directions of the keys must be the same.
	// SetUnion needs one layout.
	Right       *Input
	RightRecord Record

	Sort bool // sort each input first, within the memory limit

	// Columns lists the columns of the rows of a join: a.OFFSET:TYPE or b.OFFSET:TYPE, such as
	// b.8:u32; a.NAME for a field of an array; a or b for a whole record. Without Columns, a row is
	// the record of A, followed by the bytes of B that are not part of the key. If a record is
	// missing, its key has the value of the existing record, and all other bytes are zero. Rows are
	// plain records, without a header, so Output.KeepHeader is an error.
	Columns  []string
	Presence bool // append a byte to each row: 1 if only A has the key, 2 if only B, 3 if both

	Output Output

	// OnlyA, OnlyB and Both are the paths of outputs of SetCompare: the records whose keys are only
	// in A, only in B, or in both. For keys in both, the records are those of A.
	OnlyA, OnlyB, Both string

	Resources Resources
	Progress  func(Progress)
	Logger    *slog.Logger
}

// A SetOperation says which records a SetJob writes, depending on the inputs that have the key. For
// a selected key, set operations write all records of the first input that has it. The output of
// each operation is sorted and stable.
type SetOperation string

// The operations. SetIntersect and SetSubtract are also known as semi join and anti join. JoinInner
// writes pairs of records with the same key, in the order of A and then of B. JoinLeft, JoinRight
// and JoinOuter also write records of A, of B, or of both without a partner.
const (
	SetUnion     SetOperation = "union"     // keys of any input
	SetIntersect SetOperation = "intersect" // keys that all inputs have
	SetSubtract  SetOperation = "subtract"  // keys of A that no other input has
	SetCompare   SetOperation = "compare"   // counts keys, and writes OnlyA, OnlyB and Both
	JoinInner    SetOperation = "inner"
	JoinLeft     SetOperation = "left"
	JoinRight    SetOperation = "right"
	JoinOuter    SetOperation = "outer"
)

// setOperations contains the operations that are not joins.
var setOperations = map[SetOperation]sets.Operation{
	SetUnion:     sets.Union,
	SetIntersect: sets.Intersect,
	SetSubtract:  sets.Subtract,
	SetCompare:   sets.Compare,
}

var joinTypes = map[SetOperation]sets.JoinType{
	JoinInner: sets.InnerJoin,
	JoinLeft:  sets.LeftJoin,
	JoinRight: sets.RightJoin,
	JoinOuter: sets.OuterJoin,
}

// A SetReport describes a finished SetJob. For SetCompare, it contains the numbers of keys and of
// records.
type SetReport struct {
	*Report

	KeysOnlyA, KeysOnlyB, KeysInBoth int64
	RecordsOnlyA, RecordsOnlyB       int64
	RecordsOfAInBoth                 int64 // records of A whose keys B has
	RecordsOfBInBoth                 int64 // records of B whose keys A has
}

// Combine runs a set operation or a join. It reads each input once. If an input is not sorted,
// Combine returns a *DisorderError. After an error, no output appears.
func Combine(ctx context.Context, job SetJob) (*SetReport, error) {
	opt, err := job.options()
	if err != nil {
		return nil, err
	}
	var found *session.SetReport
	report, err := run(ctx, job.Progress, func(ctx context.Context, progress session.Progress) (*session.Report, error) {
		opt.Inputs.Progress = progress
		var err error
		found, err = session.Combine(ctx, opt)
		if found == nil {
			return nil, err
		}
		return found.Report, err
	})
	if report == nil {
		return nil, err
	}
	result := &SetReport{Report: report}
	if c := found.Counts; c != nil {
		result.KeysOnlyA = c.KeysA
		result.KeysOnlyB = c.KeysB
		result.KeysInBoth = c.KeysBoth
		result.RecordsOnlyA = c.RecordsA
		result.RecordsOnlyB = c.RecordsB
		result.RecordsOfAInBoth = c.RecordsBoth
		result.RecordsOfBInBoth = c.OtherBoth
	}
	return result, err
}

// options translates the job, and reports all invalid fields at once.
func (j *SetJob) options() (session.SetOptions, error) {
	opt := session.SetOptions{
		All:   j.All,
		Sort:  j.Sort,
		Rows:  sets.RowOptions{Columns: j.Columns, Presence: j.Presence},
		OnlyA: j.OnlyA,
		OnlyB: j.OnlyB,
		Both:  j.Both,
	}
	faults := j.setOperation(&opt)

	var all session.Options
	required := needsInput | needsOutput
	if j.Operation == SetCompare {
		required = needsInput
	}
	faults = append(faults, applyFrame(&all, &j.Input, &j.Record, &j.Output, required)...)
	inputs := len(all.Sources)
	all.Reverse = j.Reverse
	j.Resources.apply(&all)
	all.Logger = j.Logger

	if j.Right != nil {
		var right session.Options
		faults = append(faults, applyFrame(&right, j.Right, &j.RightRecord, &Output{}, needsInput)...)
		right.Reverse = j.Reverse
		inputs += len(right.Sources)
		ofRight := fields.Shared[session.MergeOptions](right)
		opt.Right = &ofRight
		if len(all.Sources) > 1 {
			faults = append(faults, optionErrorf("Input", "has %d files or streams: with Right, it must be A alone",
				len(all.Sources)))
		}
	}
	isPair := opt.Operation == sets.Compare || opt.Operation == sets.Join
	if isPair && inputs != 2 || inputs < 2 && opt.Operation != sets.Union {
		faults = append(faults, optionErrorf("Input", "has %d files or streams: operation %q needs A and B", inputs,
			j.Operation))
	}
	opt.Inputs = fields.Shared[session.MergeOptions](all)
	return opt, allFaults(faults, all.Validate())
}

// setOperation sets the operation.
func (j *SetJob) setOperation(opt *session.SetOptions) (faults []error) {
	operation, isSet := setOperations[j.Operation]
	join, isJoin := joinTypes[j.Operation]
	opt.Operation = operation
	switch {
	case isJoin:
		opt.Operation = sets.Join
		opt.JoinType = join
	case !isSet:
		faults = append(faults, optionErrorf("Operation", "%q is unknown: set it, for example to SetUnion or JoinInner",
			j.Operation))
	case len(j.Columns) > 0 || j.Presence:
		faults = append(faults, optionErrorf("Columns", "and Presence are for joins, not for %q", j.Operation))
	}
	if j.Operation != SetCompare && j.OnlyA+j.OnlyB+j.Both != "" {
		faults = append(faults, optionErrorf("OnlyA", ", OnlyB and Both are for SetCompare, not for %q", j.Operation))
	}
	if j.All && (isJoin || j.Operation == SetCompare) {
		faults = append(faults, optionErrorf("All", "is for SetUnion, SetIntersect and SetSubtract, not for %q",
			j.Operation))
	}
	return faults
}
