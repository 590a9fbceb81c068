package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/extsort/extsort/internal/dist"
	"github.com/extsort/extsort/internal/dist/simulate"
	"github.com/extsort/extsort/internal/human"
)

// simulation is a simulated cluster for a plan.
type simulation struct {
	cluster simulate.Cluster
	svg     string
	plot    *sideFile // destination of svg
}

func simulationFlags(g group, v *flagValues) {
	s := &v.dist.simulation
	c := &s.cluster
	*c = simulate.Cluster{
		Slots: 1, Store: 20 << 30, Network: 3 << 30, Disk: 2 << 30, Processor: 1 << 30, Memory: 64 << 30, Start: time.Second,
		Latency: 500 * time.Microsecond, Stragglers: 10, MTBF: 365 * 24 * time.Hour, Repair: 10 * time.Minute,
		Losses: map[int]time.Duration{}, Seed: 1,
	}
	g.add(
		wholeNumber(&c.Nodes, "NODES", 1),
		"simulate",
		"simulate all tasks on NODES nodes; otherwise none",
	)
	for _, d := range []definition{
		g.add(
			wholeNumber(&c.Slots, "N", 1),
			"slots",
			"concurrent tasks on each node; otherwise 1",
		),
		g.add(amount(&c.Store, "SIZE", parseByteLimit), "store",
			"bytes/s of the shared storage, in each direction; otherwise 20G"),
		g.add(amount(&c.Requests, "N", parseCount), "requests",
			"requests/s that the shared storage answers, reads and writes together; otherwise no limit"),
		g.add(amount(&c.Network, "SIZE", parseByteLimit), "network",
			"bytes/s of a node's network, in each direction; otherwise 3G"),
		g.add(
			amount(&c.Disk, "SIZE", parseByteLimit),
			"disk",
			"bytes/s of a node's disk, for temporary data; otherwise 2G",
		),
		g.add(
			amount(&c.Processor, "SIZE", parseByteLimit),
			"processor",
			"bytes/s that a node sorts or merges; otherwise 1G",
		),
		g.add(amount(&c.Memory, "SIZE", parseMemory), "buffer-size,S",
			"memory of a task; runs larger than half of it spill to disk; otherwise 64G"),
		g.add(
			parsed(&c.Start, "TIME", parseTime),
			"start",
			"time to start a task on a free slot; otherwise 1s",
		),
		g.add(parsed(&c.Latency, "TIME", parseTime), "latency",
			"latency of a small request to the shared storage; otherwise 500us"),
		g.add(wholeNumber(&c.Stragglers, "PERCENT", 0), "stragglers",
			"slow each task down by PERCENT times |x|, where x is normally distributed; otherwise 10"),
		g.add(
			parsed(&c.MTBF, "TIME", parseTime),
			"mtbf",
			"mean time between failures of a node; otherwise a year",
		),
		g.add(
			parsed(&c.Repair, "TIME", parseTime),
			"repair",
			"time until a failed node is back; otherwise 10m",
		),
		g.add(parsed(&c.Losses, "NODE@TIME", s.parseLoss), "lose",
			"let node NODE, counted from 0, fail at TIME; repeatable; otherwise at random"),
		g.add(
			parsed(&c.Seed, "SEED", parseSeed),
			"seed",
			"seed of the random events; otherwise 1",
		),
		g.add(
			text(&s.svg, "FILE"),
			"svg",
			"draw a timeline of the nodes as an SVG image in FILE; otherwise nothing",
		),
	} {
		d.needs("--simulate")
	}
}

func (s *simulation) parseLoss(text string) (map[int]time.Duration, error) {
	node, at, _ := strings.Cut(text, "@")
	i, bad := strconv.Atoi(node)
	after, err := parseTime(at)
	if err != nil || bad != nil || i < 0 {
		return nil, fmt.Errorf(
			"%q: want NODE@TIME, such as 3@20m; nodes are numbered from 0",
			text,
		)
	}
	s.cluster.Losses[i] = after
	return s.cluster.Losses, nil
}

// validate returns an error if the simulation is impossible.
func (s *simulation) validate() (err error) {
	for node := range s.cluster.Losses {
		if err == nil && node >= s.cluster.Nodes {
			err = fmt.Errorf(
				"--lose: no node %d: the %d nodes are numbered from 0",
				node,
				s.cluster.Nodes,
			)
		}
	}
	if s.cluster.Nodes > dist.MaxTasks ||
		s.cluster.Slots > dist.MaxTasks/max(s.cluster.Nodes, 1) {
		err = errors.Join(
			err,
			fmt.Errorf(
				"--simulate: at most %d slots can be simulated", dist.MaxTasks,
			),
		)
	}
	return err
}

// checkPlot rejects a file for --svg that is used for something else.
func (s *simulation) checkPlot(a *app, folder string, r dist.Request) error {
	if s.svg == "" {
		return nil
	}
	taken := []place{
		{role: "the plan", name: dist.PlanFile(folder)},
		{role: "the output", name: r.Output},
		{role: "the report", stream: a.stdout},
	}
	for _, name := range r.Inputs {
		taken = append(taken, place{role: "an input", name: name})
	}
	return checkSide("--svg", s.svg, taken...)
}

// openPlot opens the file that --svg names, if any.
func (s *simulation) openPlot(ctx context.Context) (err error) {
	if s.svg != "" {
		s.plot, err = openSide(ctx, "--svg", s.svg)
	}
	return err
}

// run simulates a plan and returns the result next to the estimate of the cost model.
func (s *simulation) run(
	ctx context.Context, p *dist.Plan, cost dist.Estimate,
) ([]row, error) {
	c := &s.cluster
	if c.Nodes == 0 {
		return nil, nil
	}
	r, err := simulate.Run(simulate.Sort{
		Bytes: p.Bytes(), RecordBytes: int64(p.RecordBytes), Runs: p.Runs, Parts: p.Parts,
		IndexEvery: p.IndexEvery, KeyBytes: dist.KeyBytes(p),
	}, *c)
	if err == nil && s.svg != "" {
		err = s.plot.write(ctx, func(to io.Writer) error {
			return r.WriteSVG(to, c.Nodes, c.Slots)
		})
	}
	if err != nil {
		return nil, err
	}
	all := r.Seconds * float64(c.Nodes*c.Slots)
	// The cost model gives each task its own machine, so tasks beyond the number of nodes run in
	// rounds.
	at := func(tasks int) float64 { return float64((tasks-1)/c.Nodes + 1) }
	began := 0.0
	stages := []string{}
	held := []string{}
	for i, name := range simulate.Stages {
		stages = append(stages, name+" "+human.Time(r.Ends[i]-began))
		began = r.Ends[i]
	}
	for kind, seconds := range r.Held {
		if part := seconds / all; part >= 0.005 {
			held = append(
				held, fmt.Sprintf("%s %.0f %%", simulate.Kinds[kind], 100*part),
			)
		}
	}
	return []row{
		{
			"simulated",
			fmt.Sprintf("%s on %s (cost model: %s)", human.Time(r.Seconds), plural(c.Nodes, "node"),
				human.Time(at(p.Runs)*cost.RunSeconds+at(p.Parts)*cost.Merge)),
		},
		{"stages", strings.Join(stages, ", ")}, {"bottlenecks", strings.Join(held, ", ")},
		{"repeated", fmt.Sprintf(
			"%s, %.2f %% of the time",
			plural(r.Lost, "task"),
			100*r.LostTime/all,
		)},
	}, nil
}
