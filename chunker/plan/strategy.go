package plan

import "slices"

// Strategy is a way in which sorted chunks become one sorted output.
type Strategy string

// Auto leaves the choice to the planner. Each strategy declares its own name in its own file.
const Auto Strategy = "auto"

// Properties are what the planner, the engine and the command need to know of a strategy. Only the strategy's own file
// compares its name: everything else asks for a property.
type Properties struct {
	Name        Strategy
	Way         string // what it does, in a few words
	Requestable bool   // users can ask for it by name
	Hint        string // of a requestable strategy, in the help; "": its name says enough

	stages []stageText // the stages that its candidates have, but for the common ones

	Spills        bool // writes temporary data
	SpillsAll     bool // writes all records to temporary data, even if few are wanted
	DirectIO      bool // its input and output may bypass the page cache
	InMemory      bool // can be the fastest even if one chunk holds everything
	HoldsAll      bool // needs one chunk that holds everything
	Rereads       bool // chunks take a part of the input, which is read once for each
	ReadsAllFirst bool // reads all input before it writes a record, so that it may overwrite an input
	Resumable     bool // a checkpoint keeps its temporary data
	ManyDevices   bool // needs several devices
	LastResort    bool // remains if no other strategy is possible

	// weigh returns its candidate. Strategies with DirectIO are weighed last, with the prices of direct I/O.
	weigh func(*chooser) Candidate

	// canForce reports whether the candidate of a requested strategy can run; nil: if it is possible.
	canForce func(*chooser, *Candidate) bool

	// refuse returns an error if the strategy was requested and cannot work with these facts; nil: never.
	refuse func(*chooser) error

	// losesWork reports whether a candidate does work that a checkpoint cannot keep; nil: never.
	losesWork func(*Candidate) bool
}

// Strategies is the table of strategies that a plan weighs. Between candidates of equal cost the earlier one wins.
// It is filled by init, because the functions of its rows ask it for properties.
var Strategies []Properties

func init() {
	Strategies = []Properties{copying, inCore, spreading, rereading, sifting, partitioning, merging}
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

// Requestable returns the names of the strategies that users can ask for: auto, then the others in alphabetical order.
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
