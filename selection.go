package extsort

import "github.com/extsort/extsort/internal/session"

// A Selection specifies which records a sort writes, and in which form. The functions [All],
// [First], [Unique], [Counted], [Duplicates], [Positions] and [Shuffled] return one. A nil
// Selection is equivalent to All().
type Selection interface {
	// First limits the selection to its first n records, in output order. With n = 0, the output
	// has no records.
	First(n int64) Selection

	apply(*session.Options) error
}

// A RecordSelection is a selection that writes unchanged records. It can write their positions
// instead.
type RecordSelection interface {
	Selection

	// Positions writes the positions of the selected records, as the function Positions does.
	Positions(t Type) Selection

	// Combine stores values computed from all records with the same key in the record that Unique
	// selects. It is an error for any other selection than Unique.
	Combine(fields Fields) Selection
}

// A Keep specifies which of several records with equal keys is written.
type Keep int

// The records to keep.
const (
	KeepFirst Keep = iota // the first one in input order
	KeepLast              // the last one in input order
)

// All selects all records.
func All() RecordSelection { return records{} }

// First selects the first n records of the sorted output: the n smallest, or the n largest with
// Job.Reverse. With n = 0, the output has no records.
func First(n int64) Selection { return All().First(n) }

// Unique selects one record for each key.
func Unique(keep Keep) RecordSelection { return records{selection{unique: true, keep: keep}} }

// Counted selects one record for each key, and appends the number of records with this key as a
// little-endian u64. So each output record is 8 bytes longer than an input record.
func Counted(keep Keep) Selection { return selection{unique: true, keep: keep, count: true} }

// Fields lists the fields that RecordSelection.Combine combines. Each string is OFFSET:TYPE or the
// name of a field of an array. The result replaces the field. NAME=FIELD appends the result to the
// record instead and does not change the field. NAME=FIELD:TYPE appends a sum of another type:
//
//	Fields{Sum: []string{"8:u64"}}                                    // replaces the number at byte 8
//	Fields{Sum: []string{"total=8:u32:u64"}, Max: []string{"top=8:u32"}} // appends 8 bytes, then 4
//
// Appended results follow each other without gaps, in the order of the fields of this struct.
// Floats are added in input order as float64, so that every strategy gives the same bytes.
type Fields struct {
	Sum   []string // the sum; an integer sum that does not fit the type of the result is an error
	Min   []string // the minimum, in key order
	Max   []string // the maximum, in key order
	First []string // the value of the first record in input order
	Last  []string // the value of the last record in input order
	Count bool     // append the number of records, as Counted does
}

// Duplicates selects the first record of each key that occurs more than once.
func Duplicates() RecordSelection { return records{selection{duplicates: true}} }

// Positions writes the position of each record in the input instead of the record itself: an
// argsort. The positions count from 0 over all inputs, and are little-endian numbers without a
// header. Their type is U32 or U64.
func Positions(t Type) Selection { return All().Positions(t) }

// Shuffled writes all records in a uniformly random order. The same seed and input give the same
// order. Keys are ignored, so Record may lack them.
func Shuffled(seed uint64) Selection { return selection{shuffle: true, seed: seed} }

// selection implements all Selections. The constructors permit only supported combinations.
type selection struct {
	unique     bool
	keep       Keep
	count      bool
	fields     Fields
	duplicates bool
	indexed    bool // write positions of type positions
	positions  Type
	shuffle    bool
	seed       uint64
	limit      *int64 // nil: no limit
}

func (s selection) First(n int64) Selection {
	if s.limit != nil {
		n = min(n, *s.limit)
	}
	s.limit = &n
	return s
}

// apply sets the options of the selection.
func (s selection) apply(opt *session.Options) error {
	opt.Unique = s.unique
	opt.Count = s.count
	opt.Sum = s.fields.Sum
	opt.Min = s.fields.Min
	opt.Max = s.fields.Max
	opt.First = s.fields.First
	opt.Last = s.fields.Last
	opt.Duplicates = s.duplicates
	opt.Shuffle = s.shuffle
	opt.Seed = s.seed

	switch s.keep {
	case KeepFirst:
	case KeepLast:
		opt.Keep = "last"
	default:
		return optionErrorf("Select", "has an unknown Keep (%d): use KeepFirst or KeepLast", s.keep)
	}

	if s.indexed {
		opt.Argsort = string(s.positions)
	}
	if s.indexed && s.positions != U32 && s.positions != U64 {
		return optionErrorf("Select", "Positions(%q): use U32 or U64", s.positions)
	}

	switch {
	case s.limit == nil:
	case *s.limit < 0:
		return optionErrorf("Select", "First(%d): must not be negative", *s.limit)
	case *s.limit == 0:
		opt.Limit = session.NoRecords
	default:
		opt.Limit = *s.limit
	}
	return nil
}

// records is a RecordSelection.
type records struct{ selection }

func (r records) Combine(fields Fields) Selection {
	r.count = fields.Count
	r.fields = fields
	return r.selection
}

func (r records) Positions(t Type) Selection {
	r.indexed = true
	r.positions = t
	return r.selection
}
