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

// A measurement contains the resources used by one run of a script.
type measurement struct {
	seconds float64
	user    float64 // user CPU seconds of all its processes
	system  float64 // system CPU seconds of all its processes
	// Sampled peak of the anonymous memory of all its processes together, in bytes; 0: unknown.
	peak   int64
	disk   traffic // by its processes
	device traffic // on the disk of the data directory, including other processes
	stderr []byte  // standard error
}

// traffic is a number of bytes read from and written to disks, as counted by the system; 0: none,
// or unknown.
type traffic struct {
	read, written int64
}

func (t traffic) since(before traffic) traffic {
	return traffic{
		read:    t.read - before.read,
		written: t.written - before.written,
	}
}

// add adds the resources used by a process that has ended.
func (m *measurement) add(state *os.ProcessState) {
	m.user += state.UserTime().Seconds()
	m.system += state.SystemTime().Seconds()
	disk := diskTraffic(state)
	m.disk.read += disk.read
	m.disk.written += disk.written
}

// execute runs a script and measures it, from before its first program starts until after its
// last one has ended.
func (shop *workshop) execute(
	ctx context.Context, s script,
) (measurement, error) {
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

// runPipeline starts all commands, waits for them, and adds the resources they used.
func (shop *workshop) runPipeline(
	ctx context.Context, p pipeline, m *measurement,
) error {
	// If a command does not start, this ends the ones before it.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmds := make([]*exec.Cmd, len(p.commands))
	said := make([]bytes.Buffer, len(p.commands))
	for i, c := range p.commands {
		cmds[i] = shop.prepare(ctx, c)
		shop.timedCgroup.confine(cmds[i])
		cmds[i].Stderr = &said[i]
	}
	ends, err := shop.connect(cmds, p.output)
	if err == nil {
		err = startAll(cmds)
	}
	for _, f := range ends { // the processes have duplicates of these files
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
		m.stderr = append(m.stderr, said[i].Bytes()...)
	}
	if err != nil {
		return failure(ctx, p.commands[failed], err, said[failed].Bytes())
	}
	return nil
}

// connect connects each command's output to the next one's input by a system pipe, without a
// goroutine in between. It returns the files to close once all commands have started.
func (shop *workshop) connect(
	cmds []*exec.Cmd, output string,
) (ends []*os.File, err error) {
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

// waitAll waits for all commands that were started. It returns the last error and the index of
// its command: if a program in the middle fails, the ones before it end with a broken pipe, which
// is not the cause.
func waitAll(cmds []*exec.Cmd) (failed int, err error) {
	for i, cmd := range cmds {
		if cmd.Process == nil {
			continue
		}
		if e := cmd.Wait(); e != nil {
			failed = i
			err = e
		}
	}
	return failed, err
}

// sampleEvery is short enough for the peak of a run of half a second, and costs a thousandth of a
// core.
const sampleEvery = 10 * time.Millisecond

// A memoryWatch samples the anonymous memory of processes.
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

// stop ends sampling and returns the largest sum of all samples.
func (w *memoryWatch) stop() int64 {
	close(w.done)
	w.wait.Wait()
	return w.peak
}
