package simulate

import (
	"math"
	"time"
)

// The kinds of resources, followed by other ways in which slots spend time.
const (
	storeIn = iota // read from the store
	storeOut
	requests // of the store
	networkIn
	networkOut
	disk
	processor
	waiting // a slot waits for one second per second
	noTask
	noNode
	kinds
)

// Kinds contains the names of the reasons that limit tasks.
var Kinds = [kinds]string{
	"reads from the store",
	"writes to the store",
	"requests to the store",
	"incoming network",
	"outgoing network",
	"disks",
	"processors",
	"start and latency",
	"no task ready",
	"nodes down",
}

// Sort describes a sort to simulate.
type Sort struct {
	Bytes, RecordBytes int64
	Runs, Parts        int
	// Records of a run per key in its index, and bytes of a key; 0: no index.
	IndexEvery, KeyBytes int64
}

// A phase transfers bytes or waits. Its amount is a number of bytes or seconds, and it uses
// resources of these kinds.
type phase struct {
	amount      float64
	requestRate float64 // requests per byte or second
	kinds       []int
}

// transferPhase returns a phase that transfers bytes with the given number of requests.
func transferPhase(bytes, asked float64, by ...int) phase {
	return phase{bytes, asked / max(bytes, 1), append(by, requests)}
}

// fetchPhase returns a phase that transfers bytes whose requests are counted elsewhere.
func fetchPhase(bytes float64) phase {
	return phase{bytes, 0, []int{storeIn, networkIn}}
}

// requestPhase returns a phase of small requests. Each waits for the previous one, or atOnce of
// them run concurrently.
func (c *Cluster) requestPhase(times, atOnce float64) phase {
	latency := max(c.Latency, time.Nanosecond).Seconds()
	return phase{times * latency, atOnce / latency, []int{waiting, requests}}
}

// A stage consists of tasks that go through the same phases.
type stage struct {
	tasks  int
	phases []phase
}

const (
	// Cuts that a task searches for at the same time; each needs a sequence of reads.
	cutsAtOnce   = 64
	readsAtOnce  = 32      // concurrent reads of records between keys of an index
	requestBytes = 8 << 20 // bytes per request
)

func (s Sort) stages(c *Cluster) []stage {
	bytes := float64(s.Bytes)
	runs := float64(s.Runs)
	parts := float64(s.Parts)
	run := bytes / runs
	part := bytes / parts
	requestsOf := func(bytes float64) float64 {
		return math.Ceil(bytes / requestBytes)
	}
	start := phase{amount: c.Start.Seconds(), kinds: []int{waiting}}
	asked := requestsOf(run)
	check := transferPhase(
		run, asked, storeIn, networkIn,
	) // to verify the output, it is read back
	read := check
	write := transferPhase(run, asked, storeOut, networkOut, processor)
	if 2*run > float64(c.Memory) { // it is spilled
		read = transferPhase(run, asked, storeIn, networkIn, disk, processor)
		write = transferPhase(run, asked, storeOut, networkOut, disk, processor)
	}
	cutTasks := (s.Parts-1)/cutsAtOnce + 1
	named := 1.
	atOnce := parts / float64(cutTasks)
	cut := []phase{start, c.requestPhase(runs, 1), c.requestPhase(
		runs*math.Log2(max(run/float64(s.RecordBytes), 2)), atOnce,
	)}
	begin := []phase{start, c.requestPhase(2*runs, 1)}
	// A cut reads two blocks of keys of each run, a merge two blocks of records.
	every := float64(s.IndexEvery)
	if every > 0 {
		first := run / float64(s.RecordBytes) / every / every
		second := atOnce * 2 * every
		cut = []phase{start, c.requestPhase(2*runs, 1), c.requestPhase(
			runs/readsAtOnce, (1+atOnce)*readsAtOnce,
		),
			fetchPhase(runs * (first + second) * float64(s.KeyBytes))}
		begin = append(
			begin,
			c.requestPhase(runs/readsAtOnce, 2*readsAtOnce),
			fetchPhase(runs*4*every*float64(s.RecordBytes)),
		)
		named = 2
	}
	merge := transferPhase(
		part,
		runs*requestsOf(part/runs)+requestsOf(part),
		storeIn,
		storeOut,
		networkIn,
		networkOut,
		processor,
	)
	return []stage{
		{s.Runs, []phase{start, c.requestPhase(named, 1), read, write, check}},
		{cutTasks, cut},
		{s.Parts, append(begin, merge)},
		{1, []phase{start, c.requestPhase(2*runs+parts, 1)}},
	}
}

// A resource is shared by tasks.
type resource struct {
	rate, left float64 // left has not been assigned yet
	weight     float64 // of the tasks without a final rate
	waits      int     // number of those tasks that another resource limits
}

// A slot runs a task or is idle.
type slot struct {
	node, number int
	has          [noTask]*resource

	task      *Attempt
	phases    []phase // the current one and the following ones
	slow      float64 // factor by which the task needs more of its node's resources
	remaining float64 // remaining amount of the current phase
	rate      float64 // current rate
	held      int     // kind of the resource that limits the rate
}

// build creates the resources: one store, the network and disk of each node, and the processor
// and time of each slot.
func (s *simulation) build() {
	add := func(rate float64) *resource {
		s.all = append(s.all, &resource{rate: rate})
		return s.all[len(s.all)-1]
	}
	in := add(float64(s.Store))
	out := add(float64(s.Store))
	asked := add(math.Inf(1))
	if s.Requests > 0 {
		asked.rate = float64(s.Requests)
	}
	network := float64(s.Network)
	drive := float64(s.Disk)
	for i := range s.Nodes {
		turns := s.nextFailure()
		at, known := s.Losses[i]
		if known {
			turns = at.Seconds()
		}
		own := [noTask]*resource{in, out, asked, add(network), add(network), add(drive)}
		s.nodes, s.slots = append(
			s.nodes, node{changesAt: turns},
		), append(s.slots, &slot{
			node: i,
			has:  own,
		})
	}
	for i := s.Nodes; i < s.Nodes*s.Slots; i++ {
		s.slots = append(s.slots, &slot{
			node:   i % s.Nodes,
			number: i / s.Nodes,
			has:    s.slots[i%s.Nodes].has,
		})
	}
	for _, p := range s.slots {
		p.has[processor], p.has[waiting] = add(
			float64(s.Processor/int64(s.Slots)),
		), add(1)
	}
}

// useOf returns how much of a resource the task in a slot uses per byte or second.
func (p *slot) useOf(kind int) float64 {
	switch kind {
	case storeIn, storeOut, waiting:
		return 1
	case requests:
		return p.phases[0].requestRate
	}
	return p.slow
}

// weight returns the task's weight in sharing a resource. All tasks get the same number of
// requests.
func (p *slot) weight(kind int) float64 {
	if kind == requests {
		return 1
	}
	return p.useOf(kind)
}

// assignRates assigns rates to tasks by max-min fairness: a rate can grow only at the expense of a
// task with a lower or equal rate. It finds resources whose tasks are all limited by them, makes
// these rates final, subtracts them, and repeats with the remaining tasks (progressive filling:
// Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
func assignRates(all []*resource, slots []*slot) {
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
		open = finalizeRates(all, open)
	}
}

// finalizeRates makes some rates final and returns the other slots.
func finalizeRates(all []*resource, open []*slot) (others []*slot) {
	for _, r := range all {
		r.weight = 0
		r.waits = 0
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
			if rate := part / p.useOf(kind); rate < p.rate {
				p.rate = rate
				p.held = kind
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
			p.has[kind].left -= p.rate * p.useOf(kind)
		}
	}
	return others
}
