package plan

import "slices"

// A Strategy is the name of a way to sort the input.
type Strategy string

// Auto leaves the choice to the planner. Each strategy declares its own name in its own file.
const Auto Strategy = "auto"

// Properties describe a strategy. Only its own file and the tables mention a strategy by name; all
// other code checks properties.
type Properties struct {
	Name        Strategy
	Way         string // a short description
	Requestable bool   // users can request it by name
	Hint        string // explains the name of a requestable strategy in the help; may be ""

	stages []stageText // the stages of its candidates, except the common ones
	exits  []exit      // the conditions that its runs may meet

	Spills        bool // writes temporary data
	SpillsAll     bool // spills all records, even if only the first ones are wanted
	DirectIO      bool // its input and output may bypass the page cache
	InMemory      bool // can be the fastest even if one chunk holds everything
	HoldsAll      bool // needs one chunk that holds everything
	Rereads       bool // reads the whole input for each chunk
	ReadsAllFirst bool // reads all input before it writes a record, so it may overwrite an input
	Resumable     bool // a checkpoint keeps its temporary data
	ManyDevices   bool // needs several devices
	LastResort    bool // can run whenever temporary data has enough room

	// weigh returns the candidate of the strategy. Strategies with DirectIO are weighed last, with
	// the prices of direct I/O.
	weigh func(*chooser) Candidate

	// canForce reports whether the candidate can run if the user requests the strategy. If canForce
	// is nil, Candidate.Possible decides.
	canForce func(*chooser, *Candidate) bool

	// refuse is called if the user requests the strategy. It returns an error if the strategy
	// cannot work with these facts; nil: never.
	refuse func(*chooser) error

	// losesWork reports whether a candidate does work that a checkpoint cannot keep; nil: never.
	losesWork func(*Candidate) bool
}

// Strategies is the table of strategies. Of two candidates that cost the same, the plan takes the
// earlier one. The table is filled by init, because the functions of its rows read it.
var Strategies []Properties

func init() {
	Strategies = []Properties{copying, inCore, spreading, tallying, rereading, sifting, partitioning, merging}
}

// Properties returns the row of a strategy, or the zero value if the table has none, as for Auto.
func (s Strategy) Properties() Properties {
	i := slices.IndexFunc(Strategies, func(p Properties) bool { return p.Name == s })
	if i < 0 {
		return Properties{}
	}
	return Strategies[i]
}

// isListed reports whether the table has the strategy.
func (s Strategy) isListed() bool { return s.Properties().weigh != nil }

// Requestable returns the names that users can request: auto, then the others in alphabetical
// order.
func Requestable() []string {
	var all []string
	for _, p := range Strategies {
		if p.Requestable {
			all = append(all, string(p.Name))
		}
	}
	slices.Sort(all)
	return append([]string{string(Auto)}, all...)
}
