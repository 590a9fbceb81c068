package simulate

import "math"

// The kinds of resources, and what else slots spend time on.
const (
	storeIn = iota // from the store
	storeOut
	networkIn
	networkOut
	disk
	processor
	waiting
	noTask
	noNode
	kinds
)

// Kinds are the names of what holds tasks up.
var Kinds = [kinds]string{"reads from the store", "writes to the store", "network in", "network out", "disks",
	"processors", "start and latency", "no task ready", "nodes down"}

// Sort is what the tasks do together.
type Sort struct {
	Bytes, RecordBytes int64
	Runs, Parts        int
}

// phase moves an amount of bytes through resources of these kinds, or without any waits for so many seconds.
type phase struct {
	amount float64
	kinds  []int
}

// stage is a number of tasks that go through the same phases.
type stage struct {
	tasks  int
	phases []phase
}

// cutsAtOnce is how many cuts a task searches at the same time, each by one read after the other.
const cutsAtOnce = 64

func (s Sort) stages(c *Cluster) []stage {
	bytes, runs, parts := float64(s.Bytes), float64(s.Runs), float64(s.Parts)
	run, part := bytes/runs, bytes/parts
	start := func(requests float64) phase { return phase{amount: c.Start.Seconds() + requests*c.Latency.Seconds()} }
	check := []int{storeIn, networkIn} // what was written is read back
	read, write := check, []int{storeOut, networkOut, processor}
	if 2*run > float64(c.Memory) { // it is spilled
		read, write = []int{storeIn, networkIn, disk, processor}, []int{storeOut, networkOut, disk, processor}
	}
	probes := runs * math.Log2(max(run/float64(s.RecordBytes), 2))
	return []stage{
		{s.Runs, []phase{start(1), {run, read}, {run, write}, {run, check}}},
		{(s.Parts-1)/cutsAtOnce + 1, []phase{start(runs + probes)}},
		{s.Parts, []phase{start(2 * runs), {part, []int{storeIn, storeOut, networkIn, networkOut, processor}}}},
		{1, []phase{start(2*runs + parts)}},
	}
}

// resource is what tasks share.
type resource struct {
	rate, left float64 // of which so much is not given to anybody yet
	weight     float64 // of those who have no rate yet
	waits      int     // those of them who get less elsewhere
}

// slot has a task, or none.
type slot struct {
	node, number int
	has          [waiting]*resource

	task   *Attempt
	phases []phase // from the one under way on
	slow   float64 // how many times as much it takes of its node
	left   float64 // of the phase
	rate   float64 // at which it goes on
	held   int     // the kind of what gives it no more
}

// build makes resources: one store, network and disk of each node, and processors of each slot.
func (s *simulation) build() {
	add := func(rate int64) *resource {
		s.all = append(s.all, &resource{rate: float64(rate)})
		return s.all[len(s.all)-1]
	}
	in, out := add(s.Store), add(s.Store)
	for i := range s.Nodes {
		turns := s.fails()
		if at, known := s.Losses[i]; known {
			turns = at.Seconds()
		}
		own := [waiting]*resource{in, out, add(s.Network), add(s.Network), add(s.Disk)}
		s.nodes, s.slots = append(s.nodes, node{turns: turns}), append(s.slots, &slot{node: i, has: own})
	}
	for i := s.Nodes; i < s.Nodes*s.Slots; i++ {
		s.slots = append(s.slots, &slot{node: i % s.Nodes, number: i / s.Nodes, has: s.slots[i%s.Nodes].has})
	}
	for _, p := range s.slots {
		p.has[processor] = add(s.Processor / int64(s.Slots))
	}
}

// weight is what a byte of the task in a slot takes of a resource.
func (p *slot) weight(kind int) float64 {
	if kind <= storeOut {
		return 1
	}
	return p.slow
}

// share gives each task its rate, in max-min fairness: nobody can have more but from one who has no more. The shares of
// a resource that all its users wait for are final; they are taken, and the rest is shared again (progressive filling:
// Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
func share(all []*resource, slots []*slot) {
	for _, r := range all {
		r.left = r.rate
	}
	var open []*slot
	for _, p := range slots {
		switch p.rate = 1; {
		case p.task == nil:
			p.held = noTask
		case len(p.phases[0].kinds) == 0:
			p.held = waiting
		default:
			open = append(open, p)
		}
	}
	for len(open) > 0 {
		open = fill(all, open)
	}
}

// fill gives final rates to some, and returns the others.
func fill(all []*resource, open []*slot) (others []*slot) {
	for _, r := range all {
		r.weight, r.waits = 0, 0
	}
	for _, p := range open {
		for _, kind := range p.phases[0].kinds {
			p.has[kind].weight += p.weight(kind)
			p.has[kind].waits++
		}
	}
	for _, p := range open {
		p.rate = math.Inf(1)
		for _, kind := range p.phases[0].kinds {
			if rate := max(p.has[kind].left, 0) / p.has[kind].weight; rate < p.rate {
				p.rate, p.held = rate, kind
			}
		}
		p.has[p.held].waits--
	}
	for _, p := range open {
		if p.has[p.held].waits > 0 {
			others = append(others, p)
			continue
		}
		for _, kind := range p.phases[0].kinds {
			p.has[kind].left -= p.rate * p.weight(kind)
		}
	}
	return others
}
