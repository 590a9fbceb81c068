package sets

import (
	"context"
	"log/slog"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/internal/bridge"
	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/session"
	setops "github.com/extsort/extsort/merge/sets"
)

// A Job describes a set operation on sorted inputs, or a join. Operation, Input and Record are
// required, and so is Output unless the operation is Compare. Fields without a comment have the
// same meaning as in extsort.MergeJob.
//
// The first input is called A, and the second one B.
type Job struct {
	Operation Operation

	// All counts occurrences, as SQL's ALL does: Union writes all records, Intersect as many
	// records of A as each input has, and Subtract leaves out one record of A for each record of
	// the others.
	All bool

	Input   extsort.Input // two inputs or more, each of which is sorted; Compare and joins need exactly two
	Record  extsort.Record
	Reverse bool

	// Right contains the inputs after the first, if their records have another layout:
	// RightRecord. Input is A alone. The types and directions of the keys must be the same.
	// Union needs one layout.
	Right       *extsort.Input
	RightRecord extsort.Record

	Sort bool // sort each input first, within the memory limit

	// Columns lists the columns of the rows of a join: a.OFFSET:TYPE or b.OFFSET:TYPE, such as
	// b.8:u32; a.NAME for a field of an array; a or b for a whole record. Without Columns, a row is
	// the record of A, followed by the bytes of B that are not part of the key. If a record is
	// missing, its key has the value of the existing record, and all other bytes are zero. Rows are
	// plain records, without a header, so Output.KeepHeader is an error.
	Columns  []string
	Presence bool // append a byte to each row: 1 if only A has the key, 2 if only B, 3 if both

	Output extsort.Output

	// OnlyA, OnlyB and Both are the paths of outputs of Compare: the records whose keys are only
	// in A, only in B, or in both. For keys in both, the records are those of A.
	OnlyA, OnlyB, Both string

	Resources extsort.Resources
	Progress  func(extsort.Progress)
	Logger    *slog.Logger
}

// A Operation says which records a Job writes, depending on the inputs that have the key. For
// a selected key, set operations write all records of the first input that has it. The output of
// each operation is sorted and stable.
type Operation string

// The operations. Intersect and Subtract are also known as semi join and anti join. InnerJoin
// writes pairs of records with the same key, in the order of A and then of B. LeftJoin, RightJoin
// and OuterJoin also write records of A, of B, or of both without a partner.
const (
	Union     Operation = "union"     // keys of any input
	Intersect Operation = "intersect" // keys that all inputs have
	Subtract  Operation = "subtract"  // keys of A that no other input has
	Compare   Operation = "compare"   // counts keys, and writes OnlyA, OnlyB and Both
	InnerJoin Operation = "inner"
	LeftJoin  Operation = "left"
	RightJoin Operation = "right"
	OuterJoin Operation = "outer"
)

// setOperations contains the operations that are not joins.
var setOperations = map[Operation]setops.Operation{
	Union:     setops.Union,
	Intersect: setops.Intersect,
	Subtract:  setops.Subtract,
	Compare:   setops.Compare,
}

var joinTypes = map[Operation]setops.JoinType{
	InnerJoin: setops.InnerJoin,
	LeftJoin:  setops.LeftJoin,
	RightJoin: setops.RightJoin,
	OuterJoin: setops.OuterJoin,
}

// A Report describes a finished Job. For Compare, it contains the numbers of keys and of
// records.
type Report struct {
	*extsort.Report

	KeysOnlyA, KeysOnlyB, KeysInBoth int64
	RecordsOnlyA, RecordsOnlyB       int64
	RecordsOfAInBoth                 int64 // records of A whose keys B has
	RecordsOfBInBoth                 int64 // records of B whose keys A has
}

// Run runs a set operation or a join. If an input is not sorted, Run returns an
// *extsort.DisorderError. Its other errors are those of package extsort as well. After an error, no
// output appears.
func Run(ctx context.Context, job Job) (*Report, error) {
	opt, err := job.options()
	if err != nil {
		return nil, err
	}
	var found *session.SetReport
	report, err := bridge.Run(ctx, job.Progress,
		func(ctx context.Context, progress session.Progress) (*session.Report, error) {
			opt.Inputs.Progress = progress
			var err error
			found, err = session.Combine(ctx, opt)
			if found == nil {
				return nil, err
			}
			return found.Report, err
		})
	if found == nil {
		return nil, err
	}
	result := &Report{Report: report.(*extsort.Report)}
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
func (j *Job) options() (session.SetOptions, error) {
	opt := session.SetOptions{
		All:   j.All,
		Sort:  j.Sort,
		Rows:  setops.RowOptions{Columns: j.Columns, Presence: j.Presence},
		OnlyA: j.OnlyA,
		OnlyB: j.OnlyB,
		Both:  j.Both,
	}
	faults := j.setOperation(&opt)

	all, ofFrame := bridge.Options(bridge.Frame{
		Input:       &j.Input,
		Record:      &j.Record,
		Output:      &j.Output,
		Resources:   &j.Resources,
		NeedsOutput: j.Operation != Compare,
	})
	faults = append(faults, ofFrame...)
	inputs := len(all.Sources)
	all.Reverse = j.Reverse
	all.Logger = j.Logger

	if j.Right != nil {
		right, ofRight := j.right()
		faults = append(faults, ofRight...)
		inputs += len(right.Sources)
		opt.Right = &right
		if len(all.Sources) > 1 {
			faults = append(faults, bridge.OptionError("Input", "has %d files or streams: with Right, it must be A alone",
				len(all.Sources)))
		}
	}
	isPair := opt.Operation == setops.Compare || opt.Operation == setops.Join
	if isPair && inputs != 2 || inputs < 2 && opt.Operation != setops.Union {
		faults = append(faults, bridge.OptionError("Input", "has %d files or streams: operation %q needs A and B", inputs,
			j.Operation))
	}
	opt.Inputs = fields.Shared[session.MergeOptions](all)
	return opt, bridge.Faults(faults, all.Validate())
}

// right returns the options of the inputs after the first if they have another layout.
func (j *Job) right() (session.MergeOptions, []error) {
	right, faults := bridge.Options(bridge.Frame{
		Input:     j.Right,
		Record:    &j.RightRecord,
		Output:    &extsort.Output{},
		Resources: &extsort.Resources{},
	})
	right.Reverse = j.Reverse
	return fields.Shared[session.MergeOptions](right), faults
}

// setOperation sets the operation.
func (j *Job) setOperation(opt *session.SetOptions) (faults []error) {
	operation, isSet := setOperations[j.Operation]
	join, isJoin := joinTypes[j.Operation]
	opt.Operation = operation
	switch {
	case isJoin:
		opt.Operation = setops.Join
		opt.JoinType = join
	case !isSet:
		faults = append(faults, bridge.OptionError("Operation", "%q is unknown: set it, for example to Union or InnerJoin",
			j.Operation))
	case len(j.Columns) > 0 || j.Presence:
		faults = append(faults, bridge.OptionError("Columns", "and Presence are for joins, not for %q", j.Operation))
	}
	if j.Operation != Compare && j.OnlyA+j.OnlyB+j.Both != "" {
		faults = append(faults, bridge.OptionError("OnlyA", ", OnlyB and Both are for Compare, not for %q", j.Operation))
	}
	if j.All && (isJoin || j.Operation == Compare) {
		faults = append(faults, bridge.OptionError("All", "is for Union, Intersect and Subtract, not for %q",
			j.Operation))
	}
	return faults
}
