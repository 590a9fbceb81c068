package simulate

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

const mb = 1_000_000

// calm is a deterministic cluster that is limited neither by processors nor by networks: the
// store has 100 MB/s each way, the disks have 50 MB/s.
func calm(nodes, slots int) Cluster {
	return Cluster{
		Nodes: nodes, Slots: slots, Store: 100 * mb, Network: 1e6 * mb, Disk: 50 * mb, Processor: 1e6 * mb,
		Memory: math.MaxInt64, MTBF: math.MaxInt64, Seed: 1,
	}
}

// chancy is a cluster with random events of all kinds.
func chancy(seed uint64) Cluster {
	c := calm(5, 2)
	c.Network, c.Processor, c.Memory, c.Seed = 30*mb, 40*mb, 1000*mb, seed
	c.Requests = []int64{0, 10, 1e6}[seed%3]
	c.Start, c.Latency, c.Stragglers = time.Second, time.Millisecond, 30
	c.MTBF, c.Repair, c.Losses = 10*time.Minute, 20*time.Second, map[int]time.Duration{3: 4 * time.Second}
	return c
}

var sorts = Sort{Bytes: 8000 * mb, RecordBytes: 100, Runs: 16, Parts: 12}

func simulated(t *testing.T, s Sort, c Cluster) *Result {
	t.Helper()
	r, err := Run(s, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("%s: %v, and not %v", what, got, want)
	}
}

// TestOneNode adds up times: only the reading and writing of a merge overlap.
func TestOneNode(t *testing.T) {
	s := Sort{Bytes: 400 * mb, RecordBytes: 100, Runs: 4, Parts: 2}
	r := simulated(t, s, calm(1, 1))
	near(t, "time", r.Seconds, 4+4+4+4)
	near(t, "of runs", r.Ends[0], 12)
	near(t, "reads", r.Held[storeIn], 4+4+4)
	near(t, "writes", r.Held[storeOut], 4)

	spills := calm(1, 1)
	spills.Memory = 199 * mb
	near(t, "spilled", simulated(t, s, spills).Seconds, 8+8+4+4)

	waits := calm(1, 1)
	waits.Start, waits.Latency = time.Second, time.Millisecond
	asked := 4*1 + (4 + 4*math.Log2(1e6)) + 2*(2*4) + (2*4 + 2)
	near(t, "with requests", simulated(t, s, waits).Seconds, 16+4+1+2+1+asked/1000)
}

// TestRequests limits the store's request rate so tightly that nothing else matters. It covers
// small requests, two cuts at a time, and transfers of up to 8 MiB per request.
func TestRequests(t *testing.T) {
	s := Sort{Bytes: 400 * mb, RecordBytes: 100, Runs: 4, Parts: 2}
	c := calm(1, 1)
	c.Latency, c.Requests = time.Millisecond, 10
	r := simulated(t, s, c)
	run, cut := 1+3*12., 4+2*4*math.Log2(1e6)
	for i, want := range []float64{4 * run, cut, 2 * (8 + 4*6 + 24), 8 + 2} {
		began := 0.0
		if i > 0 {
			began = r.Ends[i-1]
		}
		near(t, Stages[i], (r.Ends[i]-began)*10, want)
	}
	near(t, "requests", r.Moved[requests], r.Seconds*10)
	near(t, "their bottleneck", r.Held[requests], r.Seconds)
	for _, a := range r.Attempts {
		if a.HeldBy() != "requests to the store" {
			t.Errorf("%+v", a)
		}
	}
	s.IndexEvery = 1000
	near(t, "cut by indexes", (simulated(t, s, c).Ends[1]-simulated(t, s, c).Ends[0])*10, 2*4+4*(1+2))
	slow := &slot{task: &Attempt{}, phases: []phase{c.requestPhase(1, 1)}}
	fast := &slot{task: &Attempt{}, phases: []phase{transferPhase(100*mb, 10, storeIn)}}
	asked := &resource{rate: 10}
	all := []*resource{asked}
	for _, p := range []*slot{slow, fast} {
		p.has = [noTask]*resource{storeIn: {rate: 1e6 * mb}, requests: asked, waiting: {rate: 1}}
		all = append(all, p.has[storeIn], p.has[waiting])
	}
	assignRates(all, []*slot{slow, fast})
	near(t, "of one that waits", slow.rate*slow.phases[0].requestRate, 5)
	near(t, "of one that moves bytes", fast.rate*fast.phases[0].requestRate, 5)
}

// TestFairShares checks the known rates of one flow, of two flows, and of two flows where one is
// limited elsewhere.
func TestFairShares(t *testing.T) {
	one := Sort{Bytes: 100 * mb, RecordBytes: 100, Runs: 1, Parts: 1}
	near(t, "one", simulated(t, one, calm(2, 1)).Ends[0], 3)
	two := Sort{Bytes: 200 * mb, RecordBytes: 100, Runs: 2, Parts: 1}
	near(t, "two share the store", simulated(t, two, calm(2, 1)).Ends[0], 6)
	slots := calm(1, 2)
	slots.Network = 60 * mb
	near(t, "two share a network", simulated(t, two, slots).Ends[0], 200./60*3)

	in := &resource{rate: 100}
	narrow, wide := &resource{rate: 20}, &resource{rate: 1000}
	all, tasks := []*resource{in, narrow, wide}, []*slot{}
	for _, network := range []*resource{narrow, wide, wide} {
		p := &slot{task: &Attempt{}, slow: 1, phases: []phase{{kinds: []int{storeIn, networkIn}}}}
		p.has[storeIn], p.has[networkIn] = in, network
		tasks = append(tasks, p)
	}
	assignRates(all, tasks)
	for i, want := range []float64{20, 40, 40} {
		near(t, "max-min", tasks[i].rate, want)
	}
	if tasks[0].held != networkIn || tasks[1].held != storeIn {
		t.Errorf("held by %s and %s", Kinds[tasks[0].held], Kinds[tasks[1].held])
	}
	tasks[0].slow = 2
	assignRates(all, tasks)
	near(t, "a straggler", tasks[0].rate, 10)
	near(t, "beside a straggler", tasks[1].rate, 45)
}

// TestLaws checks invariants of all clusters: dependencies of stages, one task per slot, every
// task done exactly once, bytes moved equal the work done, slots account for the whole time, and
// no resource exceeds its rate.
func TestLaws(t *testing.T) {
	for seed := range uint64(20) {
		c := chancy(seed)
		r := simulated(t, sorts, c)
		if again := simulated(t, sorts, c); !reflect.DeepEqual(r, again) {
			t.Fatalf("seed %d: another time something else came out", seed)
		}
		counts, free, last := [4]int{}, map[[2]int]float64{}, 0.0
		lost := 0
		for _, a := range r.Attempts {
			if slot := [2]int{a.Node, a.Slot}; a.Began < free[slot] || a.Ended < last {
				t.Errorf("seed %d: %+v began before its slot was free, or ended before the one before it", seed, a)
			} else {
				free[slot], last = a.Ended, a.Ended
			}
			if a.Stage > 0 && a.Began < r.Ends[a.Stage-1] {
				t.Errorf("seed %d: %+v began before what it depends on was done, at %v", seed, a, r.Ends[a.Stage-1])
			}
			if a.Lost {
				lost++
			} else {
				counts[a.Stage]++
			}
		}
		if counts != [4]int{sorts.Runs, 1, sorts.Parts, 1} || lost != r.Lost || lost == 0 {
			t.Errorf("seed %d: %v tasks were done, %d lost, %d said", seed, counts, lost, r.Lost)
		}
		total := 0.0
		for _, seconds := range r.Held {
			total += seconds
		}
		near(t, "time of all slots", total, r.Seconds*float64(c.Nodes*c.Slots))
		if c.Requests > 0 && r.Moved[requests] > float64(c.Requests)*r.Seconds*(1+1e-6) {
			t.Errorf("seed %d: %.0f requests in %.1f s", seed, r.Moved[requests], r.Seconds)
		}
		for kind, most := range map[int]int64{storeIn: c.Store, storeOut: c.Store, networkIn: 5 * c.Network,
			disk: 5 * c.Disk, processor: 5 * c.Processor} {
			if least := 2 * float64(sorts.Bytes); r.Moved[kind] > float64(most)*r.Seconds || kind <= networkIn &&
				r.Moved[kind] < least*(1-1e-6) {
				t.Errorf("seed %d: %.0f bytes of %s in %.1f s", seed, r.Moved[kind], Kinds[kind], r.Seconds)
			}
		}
		c.Losses, c.MTBF = nil, math.MaxInt64
		calm := simulated(t, sorts, c)
		for kind, times := range map[int]float64{storeIn: 3, networkIn: 3, storeOut: 2, networkOut: 2} {
			near(t, "moved "+Kinds[kind], calm.Moved[kind], times*float64(sorts.Bytes))
		}
		if calm.Lost > 0 {
			t.Errorf("seed %d: %d tasks are lost where nodes do not fail", seed, calm.Lost)
		}
	}
}

// TestLossesAreDoneAgain makes one of two nodes fail: only its current task is repeated.
func TestLossesAreDoneAgain(t *testing.T) {
	c := calm(2, 1)
	c.Store, c.Network, c.Repair = 1e6*mb, 50*mb, 3*time.Second
	c.Losses = map[int]time.Duration{1: 8 * time.Second} // during its second run
	s := Sort{Bytes: 400 * mb, RecordBytes: 100, Runs: 4, Parts: 2}
	r := simulated(t, s, c)
	near(t, "runs", r.Ends[0], 17) // it returns at 11, before the other node is free
	near(t, "all", r.Seconds, 17+4)
	near(t, "lost", r.LostTime, 2)
	near(t, "bytes", r.Moved[networkIn], 3*400*mb+100*mb)
	if r.Lost != 1 || len(r.Attempts) != 4+1+1+2+1 {
		t.Errorf("%+v", r.Attempts)
	}
	near(t, "down", r.Held[noNode], 3)
	c.MTBF = time.Second
	if _, err := Run(s, c); err == nil || !strings.Contains(err.Error(), " tasks are not done") {
		t.Errorf("nodes that always fail: %v", err)
	}
}

func TestWriteSVG(t *testing.T) {
	c := chancy(1)
	r := simulated(t, sorts, c)
	var b strings.Builder
	if err := r.WriteSVG(&b, c.Nodes, c.Slots); err != nil {
		t.Fatal(err)
	}
	titles := 0
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "title" {
			titles++
		}
	}
	if titles != len(r.Attempts) || !strings.Contains(b.String(), ">run 0, node 0, 0 s to ") {
		t.Errorf("%d titles of %d attempts", titles, len(r.Attempts))
	}
}
