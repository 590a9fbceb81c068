package simulate

import (
	"math"
	"time"
)

// The kinds of resources, and what else slots spend time on.
const (
	storeIn = iota // from the store
	storeOut
	requests // to the store
	networkIn
	networkOut
	disk
	processor
	waiting // which a slot does for a second in a second
	noTask
	noNode
	kinds
)

// Kinds are the names of what holds tasks up.
var Kinds = [kinds]string{"reads from the store", "writes to the store", "requests to the store", "incoming network",
	"outgoing network", "disks", "processors", "start and latency", "no task ready", "nodes down"}

// Sort is what the tasks do together.
type Sort struct {
	Bytes, RecordBytes   int64
	Runs, Parts          int
	IndexEvery, KeyBytes int64 // records of a run that an index has a key of; 0: there are none
}

// phase moves an amount of bytes, or waits for one of seconds, by resources of these kinds.
type phase struct {
	amount float64
	each   float64 // requests of a byte or a second
	kinds  []int
}

// moves is a phase of bytes that so many requests move.
func moves(bytes, asked float64, by ...int) phase {
	return phase{bytes, asked / max(bytes, 1), append(by, requests)}
}

// fetches is a phase of bytes whose requests are counted elsewhere.
func fetches(bytes float64) phase { return phase{bytes, 0, []int{storeIn, networkIn}} }

// asks is a phase of small requests, each of which waits for the one before, or of several at once.
func (c *Cluster) asks(times, atOnce float64) phase {
	latency := max(c.Latency, time.Nanosecond).Seconds()
	return phase{times * latency, atOnce / latency, []int{waiting, requests}}
}

// stage is a number of tasks that go through the same phases.
type stage struct {
	tasks  int
	phases []phase
}

const (
	cutsAtOnce   = 64      // are searched by a task, each by one read after the other
	readsAtOnce  = 32      // are made of what is between keys of an index
	requestBytes = 8 << 20 // are moved by one
)

func (s Sort) stages(c *Cluster) []stage {
	bytes, runs, parts := float64(s.Bytes), float64(s.Runs), float64(s.Parts)
	run, part := bytes/runs, bytes/parts
	requestsOf := func(bytes float64) float64 { return math.Ceil(bytes / requestBytes) }
	start, asked := phase{amount: c.Start.Seconds(), kinds: []int{waiting}}, requestsOf(run)
	check := moves(run, asked, storeIn, networkIn) // what was written is read back
	read, write := check, moves(run, asked, storeOut, networkOut, processor)
	if 2*run > float64(c.Memory) { // it is spilled
		read = moves(run, asked, storeIn, networkIn, disk, processor)
		write = moves(run, asked, storeOut, networkOut, disk, processor)
	}
	cutTasks, named := (s.Parts-1)/cutsAtOnce+1, 1.
	atOnce := parts / float64(cutTasks)
	cut := []phase{start, c.asks(runs, 1), c.asks(runs*math.Log2(max(run/float64(s.RecordBytes), 2)), atOnce)}
	begin := []phase{start, c.asks(2*runs, 1)}
	if every := float64(s.IndexEvery); every > 0 { // a cut reads two blocks of keys of each run, a merge two of records
		first, second := run/float64(s.RecordBytes)/every/every, atOnce*2*every
		cut = []phase{start, c.asks(2*runs, 1), c.asks(runs/readsAtOnce, (1+atOnce)*readsAtOnce),
			fetches(runs * (first + second) * float64(s.KeyBytes))}
		begin = append(begin, c.asks(runs/readsAtOnce, 2*readsAtOnce), fetches(runs*4*every*float64(s.RecordBytes)))
		named = 2
	}
	merge := moves(part, runs*requestsOf(part/runs)+requestsOf(part), storeIn, storeOut, networkIn, networkOut, processor)
	return []stage{
		{s.Runs, []phase{start, c.asks(named, 1), read, write, check}},
		{cutTasks, cut},
		{s.Parts, append(begin, merge)},
		{1, []phase{start, c.asks(2*runs+parts, 1)}},
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
	has          [noTask]*resource

	task   *Attempt
	phases []phase // from the one under way on
	slow   float64 // how many times as much it takes of its node
	left   float64 // of the phase
	rate   float64 // at which it goes on
	held   int     // the kind of what gives it no more
}

// build makes resources: one store, network and disk of each node, and processors and time of each slot.
func (s *simulation) build() {
	add := func(rate float64) *resource {
		s.all = append(s.all, &resource{rate: rate})
		return s.all[len(s.all)-1]
	}
	in, out, asked := add(float64(s.Store)), add(float64(s.Store)), add(math.Inf(1))
	if s.Requests > 0 {
		asked.rate = float64(s.Requests)
	}
	network, drive := float64(s.Network), float64(s.Disk)
	for i := range s.Nodes {
		turns := s.fails()
		if at, known := s.Losses[i]; known {
			turns = at.Seconds()
		}
		own := [noTask]*resource{in, out, asked, add(network), add(network), add(drive)}
		s.nodes, s.slots = append(s.nodes, node{turns: turns}), append(s.slots, &slot{node: i, has: own})
	}
	for i := s.Nodes; i < s.Nodes*s.Slots; i++ {
		s.slots = append(s.slots, &slot{node: i % s.Nodes, number: i / s.Nodes, has: s.slots[i%s.Nodes].has})
	}
	for _, p := range s.slots {
		p.has[processor], p.has[waiting] = add(float64(s.Processor/int64(s.Slots))), add(1)
	}
}

// takes is what a byte or a second of the task in a slot takes of a resource.
func (p *slot) takes(kind int) float64 {
	switch kind {
	case storeIn, storeOut, waiting:
		return 1
	case requests:
		return p.phases[0].each
	}
	return p.slow
}

// weight is what it counts for where a resource is shared: of requests all tasks get as many.
func (p *slot) weight(kind int) float64 {
	if kind == requests {
		return 1
	}
	return p.takes(kind)
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
		if p.held = noTask; p.task != nil {
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
			part := max(p.has[kind].left, 0) / p.has[kind].weight * p.weight(kind)
			if rate := part / p.takes(kind); rate < p.rate {
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
			p.has[kind].left -= p.rate * p.takes(kind)
		}
	}
	return others
}
