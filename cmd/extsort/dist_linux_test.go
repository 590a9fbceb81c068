package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// distCase is a plan in a directory of its own, and the output of a single machine for the same
// input.
type distCase struct {
	t    *testing.T
	dir  string
	want []byte
}

var (
	pairLayout    = []string{"-R", "16", "-k", "0:u64"}
	gensortLayout = []string{"-f", "gensort"}
)

// planned makes a plan of test data with 8 runs and 8 parts.
func planned(t *testing.T, layout []string, size string, flags ...string) *distCase {
	t.Helper()
	d := &distCase{t: t, dir: t.TempDir()}
	mustRun(t, d.dir, append([]string{"gen", "--size", size, "--dist", "zipf", "-o", "in"}, layout...)...)
	mustRun(t, d.dir, append([]string{"-S", "256M", "-o", "want", "in"}, layout...)...)
	d.want = readFile(t, d.dir, "want")
	args := append([]string{"dist", "plan", "--runs", "8", "--parts", "8"}, append(layout, flags...)...)
	mustRun(t, d.dir, append(args, "plan", "in")...)
	return d
}

// check compares the output and checks that no other files are left over.
func (d *distCase) check(output string) {
	d.t.Helper()
	mustRun(d.t, d.dir, "dist", "cat", "-o", "got", "plan")
	if !bytes.Equal(readFile(d.t, d.dir, "got"), d.want) {
		d.t.Error("the output is not that of one machine")
	}
	err := filepath.WalkDir(d.dir, func(name string, e os.DirEntry, err error) error {
		name, _ = filepath.Rel(d.dir, name)
		known := strings.HasSuffix(name, ".json") || strings.HasPrefix(name, output)
		if err == nil && !e.IsDir() && !known && !strings.Contains(" in want got ", " "+name+" ") {
			d.t.Errorf("%s is left over", name)
		}
		return err
	})
	if err != nil {
		d.t.Error(err)
	}
}

// TestKilledTasksOfDist kills tasks at random moments and runs them again until they are done.
func TestKilledTasksOfDist(t *testing.T) {
	if testing.Short() {
		t.Skip("many tasks are killed and run again")
	}
	t.Parallel()
	for _, output := range []string{"-o", "--into"} {
		d := planned(t, pairLayout, "32M", output, "out")
		d.killAll()
		d.check("out")
	}
}

// killAll kills tasks until all are done.
func (d *distCase) killAll() {
	seed, kills := rand.Uint64(), 0
	r := rand.New(rand.NewPCG(seed, 0))
	for _, verb := range []string{"run", "cut", "merge", "verify"} {
		for most := 40 * time.Millisecond; !d.killed(verb, time.Duration(r.Int64N(int64(most)))); most *= 2 {
			kills++
		}
	}
	d.t.Logf("%d kills, seed %d", kills, seed)
}

// killed runs a task, kills it after a while, and reports whether it was done before that.
func (d *distCase) killed(verb string, after time.Duration) (done bool) {
	args := []string{"dist", verb}
	if verb == "run" || verb == "merge" {
		args = append(args, "-S", "64M")
	}
	cmd := exec.Command("extsort", append(args, "plan")...)
	cmd.Dir = d.dir
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	kill := time.AfterFunc(after, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	kill.Stop()
	if err != nil && cmd.ProcessState.Exited() {
		d.t.Fatalf("%s: %v: %s", verb, err, said.String())
	}
	return err == nil
}

// TestFullDiskOfDist makes runs in a file system that is too small. Because a later attempt may
// find more space, the exit status must be 75, and an attempt with enough space must continue.
func TestFullDiskOfDist(t *testing.T) {
	d := planned(t, pairLayout, "10M", "-o", "out")
	const mounted = `mount -t tmpfs -o size=4m none plan/runs && `
	in := func(command string) string {
		return `cd "$1" && unshare -rm sh -c '` + mounted + command + `'`
	}
	if status, _, said := shell(t, in("true"), d.dir); status != 0 {
		t.Skip("no mount of one's own here:", said)
	}
	status, _, said := shell(t, in(`extsort dist run -S 64M plan; status=$?; ls plan/runs >&2; exit $status`), d.dir)
	if status != exitRetry || !strings.Contains(said, "run 3 of 8: ") || !strings.Contains(said, "free some space") {
		t.Errorf("status %d: %s", status, said)
	}
	if strings.Contains(said, "\n00003") {
		t.Errorf("something is left of run 3: %s", said)
	}
	for _, verb := range []string{"run", "cut", "merge", "verify"} {
		mustRun(t, d.dir, "dist", verb, "plan")
	}
	d.check("out")
}
