//go:build linux

// Package throttled holds the simulation of package dist/simulate against real sorts, whose nodes are processes of one
// machine, and whose store is a file system that gives and takes no more than is said. It is a module of its own, so
// that nobody else needs FUSE, and asserts no times:
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
	nodeRate, storeRate = 8 << 20, 20 << 20 // bytes/s, each way
	dataBytes           = 160_000_000
	tasks               = 8 // of each kind
	firstUser           = 3000
)

// limit hands out a rate in the order in which it is asked.
type limit struct {
	mutex sync.Mutex
	rate  float64
	next  time.Time // when all that was handed out is used up
}

// take gives the time at which so many bytes have come through. A little of what was not used is not lost, since a
// request comes a moment after the one before.
func (l *limit) take(bytes int) time.Time {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if least := time.Now().Add(-20 * time.Millisecond); l.next.Before(least) {
		l.next = least
	}
	l.next = l.next.Add(time.Duration(float64(bytes) / l.rate * 1e9))
	return l.next
}

// store is a file system with a limit for all nodes, and one for each, each way. A node is a user.
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

// pass waits until bytes of a node's request have come through.
func (s *store) pass(ctx context.Context, way, bytes int) {
	if caller, ok := fuse.FromContext(ctx); ok && caller.Uid >= firstUser {
		own := s.nodes[caller.Uid-firstUser][way].take(bytes)
		if all := s.all[way].take(bytes); all.After(own) {
			own = all
		}
		time.Sleep(time.Until(own))
	}
}

// file is a file or folder of it. What a cache has of a file is forgotten when it is opened.
type file struct {
	*fs.LoopbackNode
	store *store
}

func (f *file) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &file{ops.(*fs.LoopbackNode), f.store}
}

// Tmpfile: there are no files without a name, as with NFS.
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

// cluster runs tasks in a folder of the store.
type cluster struct {
	t       *testing.T
	command string
	folder  string
	mutex   sync.Mutex
	busy    map[int]*exec.Cmd // the task of each node
	killed  int
}

// TestRealRuns prints what is simulated beside what is measured.
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

// mount makes the store.
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

// in is a command in the store. This process never enters it, since it cannot serve itself while it starts another.
func (c *cluster) in(args ...string) *exec.Cmd {
	return exec.Command("env", append([]string{"-C", c.folder}, args...)...)
}

// must runs a command in the store, and gives what it prints.
func (c *cluster) must(args ...string) string {
	c.t.Helper()
	out, err := c.in(args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

var makespan = regexp.MustCompile(`(?m)^simulated +(\S+) on `)

// plan plans the sort anew, and gives how long it is to take.
func (c *cluster) plan(nodes int, lost time.Duration) time.Duration {
	c.must("rm", "-rf", "plan", "out")
	began := time.Now()
	c.must(c.command, "dist", "plan", "-f", "gensort", "--runs", fmt.Sprint(tasks), "--into", "out", "plan", "in")
	start := time.Since(began) // of a command that does as good as nothing
	args := []string{c.command, "dist", "plan", "-f", "gensort", "--runs", fmt.Sprint(tasks), "--into", "out",
		"--simulate", fmt.Sprint(nodes), "--store", fmt.Sprint(storeRate), "--network", fmt.Sprint(nodeRate),
		"-S", memory["run"], "--start", start.String(), "--stragglers", "0", "--repair", "1ms"}
	if c.killed = 0; lost > 0 {
		args = append(args, "--lose", "0@"+lost.String())
	}
	said := c.must(append(args, "plan", "in")...)
	c.must("chmod", "-R", "a+rwX", ".")
	seconds, err := time.ParseDuration(makespan.FindStringSubmatch(said)[1])
	if err != nil {
		c.t.Fatal(err)
	}
	return seconds
}

// stage has nodes do all tasks of a stage, each the next one that is due. One that was killed is due again.
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

// memory of the tasks. A run is not spilled, and a merge, whose part is as small as a run, begins to write before it
// has read all.
var memory = map[string]string{"run": "128M", "merge": "24M"}

// task does a task on a node, and reports whether it was not killed.
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

// check compares the output with that of one machine.
func (c *cluster) check() {
	c.t.Helper()
	c.must("cmp", "out", "want")
}
