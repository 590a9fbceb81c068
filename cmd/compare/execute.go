package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"
)

// measurement is what one run of a script needed.
type measurement struct {
	seconds float64
	user    float64 // seconds of the processors in all its processes
	system  float64 // seconds of the processors in the system for them
	peak    int64   // bytes of anonymous memory of all its processes together, as sampled; 0: not known
	disk    traffic // of its processes
	device  traffic // of the disk of the folder meanwhile, whoever caused it
	said    []byte  // on standard error
}

// traffic is what went to and from disks, in bytes, as the system counts it for a process; 0: nothing, or not known.
type traffic struct {
	read, written int64
}

func (t traffic) since(before traffic) traffic {
	return traffic{read: t.read - before.read, written: t.written - before.written}
}

// add counts what a process needed that has ended.
func (m *measurement) add(state *os.ProcessState) {
	m.user += state.UserTime().Seconds()
	m.system += state.SystemTime().Seconds()
	disk := diskTraffic(state)
	m.disk.read += disk.read
	m.disk.written += disk.written
}

// execute runs a script and measures it, from before its first program starts to after its last one has ended.
func (shop *workshop) execute(ctx context.Context, s script) (measurement, error) {
	var m measurement
	before := diskCounters(shop.dir)
	begin := time.Now()
	for _, p := range s {
		if err := shop.runPipeline(ctx, p, &m); err != nil {
			return m, err
		}
	}
	m.seconds = time.Since(begin).Seconds()
	m.device = diskCounters(shop.dir).since(before)
	return m, nil
}

// runPipeline starts all commands, waits for them, and adds what they needed.
func (shop *workshop) runPipeline(ctx context.Context, p pipeline, m *measurement) error {
	ctx, cancel := context.WithCancel(ctx) // ends what was started when a later command does not start
	defer cancel()
	cmds := make([]*exec.Cmd, len(p.commands))
	said := make([]bytes.Buffer, len(p.commands))
	for i, c := range p.commands {
		cmds[i] = shop.prepare(ctx, c)
		shop.group.confine(cmds[i])
		cmds[i].Stderr = &said[i]
	}
	ends, err := shop.connect(cmds, p.output)
	if err == nil {
		err = startAll(cmds)
	}
	for _, f := range ends { // the processes have their own
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		cancel()
		waitAll(cmds)
		return err
	}
	watch := watchMemory(cmds)
	failed, err := waitAll(cmds)
	m.peak = max(m.peak, watch.stop())
	for i, cmd := range cmds {
		m.add(cmd.ProcessState)
		m.said = append(m.said, said[i].Bytes()...)
	}
	if err != nil {
		return failure(ctx, p.commands[failed], err, said[failed].Bytes())
	}
	return nil
}

// connect ties each command's output to the next one's input by a pipe of the system, which no goroutine of ours
// stands in. It returns the files to close once all have started.
func (shop *workshop) connect(cmds []*exec.Cmd, output string) (ends []*os.File, err error) {
	for i := range cmds[1:] {
		r, w, err := os.Pipe()
		if err != nil {
			return ends, err
		}
		ends = append(ends, r, w)
		cmds[i].Stdout, cmds[i+1].Stdin = w, r
	}
	if output == "" {
		return ends, nil
	}
	f, err := os.Create(shop.path(output))
	if err != nil {
		return ends, err
	}
	cmds[len(cmds)-1].Stdout = f
	return append(ends, f), nil
}

func startAll(cmds []*exec.Cmd) error {
	for _, cmd := range cmds {
		if err := cmd.Start(); err != nil {
			return err
		}
	}
	return nil
}

// waitAll waits for all commands that were started. It returns the last failure of them, and whose it is: if a
// program in the middle fails, the ones before it end, too, but only of a broken pipe.
func waitAll(cmds []*exec.Cmd) (failed int, err error) {
	for i, cmd := range cmds {
		if cmd.Process == nil {
			continue
		}
		if e := cmd.Wait(); e != nil {
			failed, err = i, e
		}
	}
	return failed, err
}

// sampleEvery is often enough for the peak of a run of half a second, and costs a thousandth of a core.
const sampleEvery = 10 * time.Millisecond

// memoryWatch samples the anonymous memory of processes.
type memoryWatch struct {
	done chan struct{}
	wait sync.WaitGroup
	peak int64
}

func watchMemory(cmds []*exec.Cmd) *memoryWatch {
	w := &memoryWatch{done: make(chan struct{})}
	w.wait.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			var sum int64
			for _, cmd := range cmds {
				sum += anonymousMemory(cmd.Process.Pid)
			}
			w.peak = max(w.peak, sum)
			select {
			case <-tick.C:
			case <-w.done:
				return
			}
		}
	})
	return w
}

// stop ends the sampling and returns the largest sum that was seen.
func (w *memoryWatch) stop() int64 {
	close(w.done)
	w.wait.Wait()
	return w.peak
}
