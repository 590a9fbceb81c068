//go:build linux

// Package throttled compares the simulation of package dist/simulate with real sorts. The nodes
// are processes on one machine, and the store is a file system with limited rates. It is a module
// of its own, so that other modules do not depend on FUSE. It asserts no times:
//
//	go -C internal/dist/throttled test -v
package throttled

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

const (
	nodeRate, storeRate = 8 << 20, 20 << 20 // bytes per second, each way
	dataBytes           = 160_000_000
	tasks               = 8 // of each kind
	firstUser           = 3000
)

// A limit grants a rate in the order of the requests.
type limit struct {
	mutex sync.Mutex
	rate  float64
	next  time.Time // when everything granted so far is used up
}

// take returns the time at which the given number of bytes has been transferred. It carries over
// a little unused time, because a request starts a moment after the previous one.
func (l *limit) take(bytes int) time.Time {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if least := time.Now().Add(-20 * time.Millisecond); l.next.Before(least) {
		l.next = least
	}
	l.next = l.next.Add(time.Duration(float64(bytes) / l.rate * 1e9))
	return l.next
}

// store is a file system with a limit for all nodes and a limit for each node, for each
// direction. Each node is a user.
type store struct {
	all   [2]limit
	nodes [4][2]limit
}

const (
	reading = iota
	writing
)

func newStore() *store {
	s := &store{}
	for way := range s.all {
		s.all[way].rate = storeRate
		for i := range s.nodes {
			s.nodes[i][way].rate = nodeRate
		}
	}
	return s
}

// pass waits until the bytes of a node's request have been transferred.
func (s *store) pass(ctx context.Context, way, bytes int) {
	if caller, ok := fuse.FromContext(ctx); ok && caller.Uid >= firstUser {
		own := s.nodes[caller.Uid-firstUser][way].take(bytes)
		if all := s.all[way].take(bytes); all.After(own) {
			own = all
		}
		time.Sleep(time.Until(own))
	}
}

// file is a file or directory of the store. Opening a file drops it from the cache.
type file struct {
	*fs.LoopbackNode
	store *store
}

func (f *file) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &file{ops.(*fs.LoopbackNode), f.store}
}

// Tmpfile fails: as with NFS, there are no unnamed files.
func (f *file) Tmpfile(context.Context, uint32, uint32,
	*fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, syscall.EOPNOTSUPP
}

func (f *file) Read(ctx context.Context, h fs.FileHandle, p []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	f.store.pass(ctx, reading, len(p))
	return h.(fs.FileReader).Read(ctx, p, off)
}

func (f *file) Write(ctx context.Context, h fs.FileHandle, p []byte, off int64) (uint32, syscall.Errno) {
	f.store.pass(ctx, writing, len(p))
	return h.(fs.FileWriter).Write(ctx, p, off)
}

// cluster runs tasks in a directory of the store.
type cluster struct {
	t       *testing.T
	command string
	folder  string
	mutex   sync.Mutex
	busy    map[int]*exec.Cmd // current task of each node
	killed  int
}

// TestRealRuns prints simulated and measured times.
func TestRealRuns(t *testing.T) {
	parent, err := os.MkdirTemp("", "throttled")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	c := &cluster{t: t, command: filepath.Join(parent, "extsort"), folder: filepath.Join(parent, "store"),
		busy: map[int]*exec.Cmd{}}
	c.mount(filepath.Join(parent, "backing"))
	build := exec.Command("go", "build", "-o", c.command, "./cmd/extsort")
	build.Dir = filepath.Join("..", "..", "..")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if err := os.Chmod(parent, 0o755); err != nil { // nodes are other users
		t.Fatal(err)
	}
	c.must(c.command, "gen", "-f", "gensort", "--size", fmt.Sprint(dataBytes), "-o", "in")
	c.must(c.command, "-f", "gensort", "-S", "512M", "-o", "want", "in")
	t.Logf("nodes  lost  simulated   measured  difference")
	for _, run := range []struct {
		nodes int
		lost  time.Duration // when the task of node 0 is killed
	}{{1, 0}, {2, 0}, {4, 0}, {2, 5 * time.Second}} {
		simulated := c.plan(run.nodes, run.lost)
		began := time.Now()
		if run.lost > 0 {
			time.AfterFunc(run.lost, c.kill)
		}
		for _, stage := range []string{"run", "cut", "merge", "verify"} {
			c.stage(stage, run.nodes)
		}
		took := time.Since(began)
		t.Logf("%5d %5d %9.2f s %8.2f s %+10.1f %%", run.nodes, c.killed, simulated.Seconds(), took.Seconds(),
			100*(simulated.Seconds()/took.Seconds()-1))
		c.check()
	}
}

// mount mounts the store.
func (c *cluster) mount(backing string) {
	for _, name := range []string{backing, c.folder} {
		if err := os.Mkdir(name, 0o777); err != nil {
			c.t.Fatal(err)
		}
	}
	root, err := fs.NewLoopbackRoot(backing)
	if err != nil {
		c.t.Fatal(err)
	}
	server, err := fs.Mount(c.folder, &file{root.(*fs.LoopbackNode), newStore()}, &fs.Options{
		MountOptions: fuse.MountOptions{
			AllowOther: true, DirectMountStrict: true, MaxWrite: 128 << 10, DisabledCapabilities: fuse.CAP_PASSTHROUGH,
		},
	})
	if err != nil {
		c.t.Skip("needs FUSE, and root:", err)
	}
	c.t.Cleanup(func() { server.Unmount() })
}

// in returns a command that runs in the store. This process cannot enter the store, because it
// would have to serve itself while it starts another process.
func (c *cluster) in(args ...string) *exec.Cmd {
	return exec.Command("env", append([]string{"-C", c.folder}, args...)...)
}

// must runs a command in the store and returns its output.
func (c *cluster) must(args ...string) string {
	c.t.Helper()
	out, err := c.in(args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// makespan matches the simulated time, for example "4.2 s" or "2 min 5 s".
var makespan = regexp.MustCompile(`(?m)^simulated +(.+) on \d+ nodes?`)

// plan makes a new plan and returns the simulated time.
func (c *cluster) plan(nodes int, lost time.Duration) time.Duration {
	c.must("rm", "-rf", "plan", "out")
	began := time.Now()
	c.must(c.command, "dist", "plan", "-f", "gensort", "--runs", fmt.Sprint(tasks), "--into", "out", "plan", "in")
	start := time.Since(began) // of a command that does almost nothing
	args := []string{c.command, "dist", "plan", "-f", "gensort", "--runs", fmt.Sprint(tasks), "--into", "out",
		"--simulate", fmt.Sprint(nodes), "--store", fmt.Sprint(storeRate), "--network", fmt.Sprint(nodeRate),
		"-S", memory["run"], "--start", start.String(), "--stragglers", "0", "--repair", "1ms"}
	if c.killed = 0; lost > 0 {
		args = append(args, "--lose", "0@"+lost.String())
	}
	said := c.must(append(args, "plan", "in")...)
	c.must("chmod", "-R", "a+rwX", ".")
	found := makespan.FindStringSubmatch(said)
	if found == nil {
		c.t.Fatalf("no simulated time in %s", said)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(found[1], " ", ""), "min", "m")
	simulated, err := time.ParseDuration(text)
	if err != nil {
		c.t.Fatal(err)
	}
	return simulated
}

// stage makes nodes do all tasks of a stage, each the next one in the queue. A killed task goes
// back to the queue.
func (c *cluster) stage(name string, nodes int) {
	due, left := make(chan int, tasks), tasks
	if name == "cut" || name == "verify" {
		left = 1
	}
	for k := range left {
		due <- k
	}
	var all, wait sync.WaitGroup
	all.Add(left)
	for node := range nodes {
		wait.Go(func() {
			for k := range due {
				if c.task(node, name, k) {
					all.Done()
				} else {
					due <- k
				}
			}
		})
	}
	all.Wait()
	close(due)
	wait.Wait()
}

// memory contains the memory limits of the tasks. With them, a run does not spill, and a merge
// starts to write before it has read everything.
var memory = map[string]string{"run": "128M", "merge": "24M"}

// task does a task on a node and reports whether it ended without being killed.
func (c *cluster) task(node int, name string, k int) bool {
	args := []string{c.command, "dist", name, "plan"}
	if memory := memory[name]; memory != "" {
		args = append(args, "-S", memory, "--part", fmt.Sprintf("%d/%d", k, tasks))
	}
	cmd := c.in(args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: firstUser + uint32(node)}}
	var said bytes.Buffer
	cmd.Stderr = &said
	c.mutex.Lock()
	err := cmd.Start()
	c.busy[node] = cmd
	c.mutex.Unlock()
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil && !strings.Contains(err.Error(), "killed") {
		c.t.Errorf("%q: %v: %s", args, err, said.String())
	}
	return err == nil || c.t.Failed()
}

// kill kills the task of node 0.
func (c *cluster) kill() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.killed++
	c.busy[0].Process.Kill()
}

// check compares the output with that of a single machine.
func (c *cluster) check() {
	c.t.Helper()
	c.must("cmp", "out", "want")
}
