// Package simulate predicts how long a distributed sort takes on a cluster. It is a
// discrete-event simulation of the bytes that the tasks move through the cluster's resources. It
// is independent of the cost model, so that each can be checked against the other.
//
// A task goes through phases, one after the other. A phase moves bytes through several resources at
// one rate, the highest that is fair to all others (share.go), or waits for answers to small
// requests. Events are the end of a phase, and the failure and the return of a node. A stage begins
// when the previous one is done. If a node fails, only its current tasks must be repeated, from
// their beginning.
package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A Cluster is the machine of a simulated sort. Rates are bytes per second.
type Cluster struct {
	Nodes, Slots int   // Slots is the number of tasks per node
	Store        int64 // of the store, which all nodes share, each way
	// Per second to the store, for reads and writes together; 0: unlimited.
	Requests  int64
	Network   int64         // of a node, each way
	Disk      int64         // of a node, for spill files, reads and writes together
	Processor int64         // rate at which a node sorts or merges, with all slots
	Memory    int64         // bytes per task
	Start     time.Duration // start-up time of a task
	Latency   time.Duration // of a small request to the store
	// A task needs |x| times this many percent more of its node; x is normally distributed.
	Stragglers int
	// Mean time between failures of a node, and time until it returns.
	MTBF, Repair time.Duration
	// Losses maps nodes to the time of their first failure. Other nodes fail at random times.
	Losses map[int]time.Duration
	Seed   uint64
}

// An Attempt is a task in a slot, from its start until it was done or lost.
type Attempt struct {
	Stage, Task, Node, Slot int
	Began, Ended            float64
	Lost                    bool
	Held                    [noTask]float64 // seconds, by limiting resource
}

// HeldBy returns the kind that limited an attempt for the longest time.
func (a *Attempt) HeldBy() string {
	return Kinds[slices.Index(a.Held[:], slices.Max(a.Held[:]))]
}

// Stages contains the names of the stages.
var Stages = []string{"run", "cut", "merge", "verify"}

// Result is the result of a simulation.
type Result struct {
	Seconds  float64
	Ends     []float64      // ends of the stages, in seconds
	Attempts []Attempt      // in the order in which they ended
	Lost     int            // number of lost attempts
	LostTime float64        // seconds that lost attempts used, summed over all slots
	Held     [kinds]float64 // seconds of all slots, by limiting resource
	Moved    [kinds]float64 // bytes, or requests
}

// simulation is a simulation in progress.
type simulation struct {
	Cluster
	Result
	chance  *rand.Rand
	nodes   []node
	slots   []*slot
	all     []*resource
	pending []int // tasks of the current stage that are waiting for a slot
}

// A node is up or down until the time changesAt.
type node struct {
	down      bool
	changesAt float64
}

// Run simulates a sort.
func Run(sort Sort, c Cluster) (*Result, error) {
	s := &simulation{Cluster: c, chance: rand.New(rand.NewPCG(c.Seed, 0))}
	s.build()
	most := maxAttempts * (sort.Runs + sort.Parts)
	for i, stage := range sort.stages(&c) {
		for k := range stage.tasks {
			s.pending = append(s.pending, k)
		}
		for left := stage.tasks; left > 0; left -= s.nextEvent() {
			if s.assign(i, stage.phases); len(s.Attempts) > most {
				return nil, fmt.Errorf(
					"after %d attempts %d %s tasks are not done: they take too long for nodes "+
						"that fail so often",
					most,
					left,
					Stages[i],
				)
			}
		}
		s.Ends = append(s.Ends, s.Seconds)
	}
	return &s.Result, nil
}

// maxAttempts limits the average number of attempts per task before a simulation gives up.
const maxAttempts = 50

// nextFailure returns the time at which a node that has just come up will fail.
func (s *simulation) nextFailure() float64 {
	return s.Seconds + s.MTBF.Seconds()*s.chance.ExpFloat64()
}

// assign assigns tasks to slots. Every node gets one task before any node gets two.
func (s *simulation) assign(stage int, phases []phase) {
	for _, p := range s.slots {
		if len(s.pending) > 0 && p.task == nil && !s.nodes[p.node].down {
			p.task = &Attempt{
				Stage: stage,
				Task:  s.pending[0],
				Node:  p.node,
				Slot:  p.number,
				Began: s.Seconds,
			}
			p.phases, p.remaining = phases, phases[0].amount
			p.slow = 1 + float64(s.Stragglers)/100*math.Abs(s.chance.NormFloat64())
			s.pending = s.pending[1:]
		}
	}
}

// nextEvent advances to the next event and returns the number of tasks that are done.
func (s *simulation) nextEvent() (done int) {
	assignRates(s.all, s.slots)
	passes := math.Inf(1)
	for _, n := range s.nodes {
		passes = min(passes, n.changesAt-s.Seconds)
	}
	for _, p := range s.slots {
		if p.task != nil {
			passes = min(passes, p.remaining/p.rate)
		}
	}
	s.Seconds += passes
	for _, p := range s.slots {
		if p.task == nil && s.nodes[p.node].down {
			p.held = noNode
		}
		if s.Held[p.held] += passes; p.task == nil {
			continue
		}
		if p.task.Held[p.held] += passes; s.advance(p, p.rate*passes) {
			done++
		}
	}
	for i := range s.nodes {
		if s.nodes[i].changesAt <= s.Seconds {
			s.failOrReturn(i)
		}
	}
	return done
}

// settled is the fraction of a phase that may remain due to rounding.
const settled = 1e-9

// advance advances the task in a slot by an amount of its phase and reports whether the task is
// done.
func (s *simulation) advance(p *slot, amount float64) (done bool) {
	for _, kind := range p.phases[0].kinds {
		if kind == requests {
			s.Moved[kind] += amount * p.phases[0].requestRate
		} else {
			s.Moved[kind] += amount
		}
	}
	if p.remaining -= amount; p.remaining > settled*p.phases[0].amount {
		return false
	}
	if p.phases = p.phases[1:]; len(p.phases) > 0 {
		p.remaining = p.phases[0].amount
		return false
	}
	s.end(p)
	return true
}

func (s *simulation) end(p *slot) {
	p.task.Ended = s.Seconds
	s.Attempts = append(s.Attempts, *p.task)
	p.task = nil
}

// failOrReturn makes a node fail or return.
func (s *simulation) failOrReturn(i int) {
	n := &s.nodes[i]
	if n.down = !n.down; !n.down {
		n.changesAt = s.nextFailure()
		return
	}
	n.changesAt = s.Seconds + s.Repair.Seconds()
	for _, p := range s.slots {
		if p.node == i && p.task != nil {
			p.task.Lost = true
			s.Lost = s.Lost + 1
			s.LostTime = s.LostTime + s.Seconds - p.task.Began
			s.pending = append(s.pending, p.task.Task)
			s.end(p)
		}
	}
	slices.Sort(s.pending)
}
