// Package simulate predicts how a sort by tasks goes on a cluster, by moving the bytes of its tasks through what the
// cluster has, from event to event. It shares nothing with the cost model, so that one can be held against the other.
//
// A task goes through phases one after the other. A phase moves bytes through several resources at one rate, the
// greatest in fairness to all others (share.go), or waits for answers to small requests. Events are the end of a phase,
// the loss of a node and its return. A stage begins when the one before is done. Of a lost task all is done again, of
// others nothing.
package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Cluster is what a sort runs on. Rates are bytes/s.
type Cluster struct {
	Nodes, Slots int                   // Slots is how many tasks a node has at once
	Store        int64                 // of what all nodes share, each way
	Requests     int64                 // that it answers in a second, both ways together; 0: all
	Network      int64                 // of a node, each way
	Disk         int64                 // of a node, for spill, both ways together
	Processor    int64                 // sorted or merged by a node, with all slots
	Memory       int64                 // bytes of a task
	Start        time.Duration         // of a task
	Latency      time.Duration         // of a small request to the store
	Stragglers   int                   // percent, times |x|, that a task takes more of its node; x is normal
	MTBF, Repair time.Duration         // mean time between failures of a node, and until it is back
	Losses       map[int]time.Duration // when nodes fail for the first time; others do by chance
	Seed         uint64
}

// Attempt is a task in a slot, from when it began until it was done or lost.
type Attempt struct {
	Stage, Task, Node, Slot int
	Began, Ended            float64
	Lost                    bool
	Held                    [noTask]float64 // seconds, by what gave it no more
}

// HeldBy is the kind of what held an attempt up for the longest time.
func (a *Attempt) HeldBy() string { return Kinds[slices.Index(a.Held[:], slices.Max(a.Held[:]))] }

// Stages are the names of the stages.
var Stages = []string{"run", "cut", "merge", "verify"}

// Result is what came out.
type Result struct {
	Seconds  float64
	Ends     []float64      // of the stages
	Attempts []Attempt      // in the order in which they ended
	Lost     int            // attempts that were
	LostTime float64        // seconds of all slots
	Held     [kinds]float64 // seconds of all slots, by what gave their tasks no more
	Moved    [kinds]float64 // bytes, or requests
}

// simulation is one under way.
type simulation struct {
	Cluster
	Result
	chance  *rand.Rand
	nodes   []node
	slots   []*slot
	all     []*resource
	pending []int // tasks of the stage that are in no slot
}

// node is down or up until it turns.
type node struct {
	down  bool
	turns float64
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
		for left := stage.tasks; left > 0; left -= s.step() {
			if s.assign(i, stage.phases); len(s.Attempts) > most {
				return nil, fmt.Errorf("after %d attempts %d %s tasks are not done: they take too long for nodes "+
					"that fail so often", most, left, Stages[i])
			}
		}
		s.Ends = append(s.Ends, s.Seconds)
	}
	return &s.Result, nil
}

// maxAttempts of each task, on average, are the end of a simulation.
const maxAttempts = 50

// fails is when a node fails that is up from now on.
func (s *simulation) fails() float64 { return s.Seconds + s.MTBF.Seconds()*s.chance.ExpFloat64() }

// assign gives tasks to slots: all nodes get one before any gets two.
func (s *simulation) assign(stage int, phases []phase) {
	for _, p := range s.slots {
		if len(s.pending) > 0 && p.task == nil && !s.nodes[p.node].down {
			p.task = &Attempt{Stage: stage, Task: s.pending[0], Node: p.node, Slot: p.number, Began: s.Seconds}
			p.phases, p.left = phases, phases[0].amount
			p.slow = 1 + float64(s.Stragglers)/100*math.Abs(s.chance.NormFloat64())
			s.pending = s.pending[1:]
		}
	}
}

// step goes on to the next event, and gives the number of tasks that are done.
func (s *simulation) step() (done int) {
	share(s.all, s.slots)
	passes := math.Inf(1)
	for _, n := range s.nodes {
		passes = min(passes, n.turns-s.Seconds)
	}
	for _, p := range s.slots {
		if p.task != nil {
			passes = min(passes, p.left/p.rate)
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
		if p.task.Held[p.held] += passes; s.pass(p, p.rate*passes) {
			done++
		}
	}
	for i := range s.nodes {
		if s.nodes[i].turns <= s.Seconds {
			s.turn(i)
		}
	}
	return done
}

// settled is the part of a phase that rounding may leave.
const settled = 1e-9

// pass goes on with the task in a slot by an amount of its phase, and reports whether it is done.
func (s *simulation) pass(p *slot, amount float64) (done bool) {
	for _, kind := range p.phases[0].kinds {
		if kind == requests {
			s.Moved[kind] += amount * p.phases[0].each
		} else {
			s.Moved[kind] += amount
		}
	}
	if p.left -= amount; p.left > settled*p.phases[0].amount {
		return false
	}
	if p.phases = p.phases[1:]; len(p.phases) > 0 {
		p.left = p.phases[0].amount
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

// turn has a node fail or come back.
func (s *simulation) turn(i int) {
	n := &s.nodes[i]
	if n.down = !n.down; !n.down {
		n.turns = s.fails()
		return
	}
	n.turns = s.Seconds + s.Repair.Seconds()
	for _, p := range s.slots {
		if p.node == i && p.task != nil {
			p.task.Lost = true
			s.Lost, s.LostTime = s.Lost+1, s.LostTime+s.Seconds-p.task.Began
			s.pending = append(s.pending, p.task.Task)
			s.end(p)
		}
	}
	slices.Sort(s.pending)
}
