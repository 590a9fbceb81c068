//go:build linux

package powerloss

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	kept     = result + "/kept" // directory of a checkpoint
	keptKeys = 800_000          // four chunks with the minimum memory

	// crashesEnv is the number of random crashes of each sort with a checkpoint. .ci/long sets
	// it.
	crashesEnv    = "EXTSORT_TEST_CRASHES"
	crashesInTest = 12
)

// keptJobs returns sorts with a checkpoint.
func keptJobs() []job {
	_, sorted := keys(keptKeys)
	sort := func(args ...string) []string {
		return append([]string{extsort, "-t", "u64", "-S", "16M", "--parallel", "2", "--stats", "--strategy", "merge",
			"--checkpoint", kept, "-o", out}, args...)
	}
	return []job{
		{name: "replaced", args: sort("data/many"), many: keptKeys, old: "data/old", want: sorted},
		{name: "in place", args: sort(out), many: keptKeys, old: "data/many", want: sorted},
		{name: "groups of runs", args: sort("--batch-size", "2", "data/many"), many: keptKeys, want: sorted},
	}
}

// TestPowerLossOfCheckpoint crashes the machine during sorts with a checkpoint. The moments and
// the losses are random, because there are too many of them. After each crash, the output must be
// the complete old or new one. The same command then continues, starts over, or finds that the
// output is complete, and must produce the correct bytes.
func TestPowerLossOfCheckpoint(t *testing.T) {
	needStrace(t)
	for _, j := range keptJobs() {
		t.Run(j.name, func(t *testing.T) {
			r := seeded(t)
			c := newCrashed(t, j, nil)
			c.crash(t, r)
			if c.on == 0 || c.anew == 0 || c.old == 0 || c.new == 0 {
				t.Error("no sort went on, none began anew, or the output was never old or never new")
			}
		})
	}
	t.Run("gone on with", crashSecond)
}

// crashSecond crashes the machine during a sort that continues after a first crash.
func crashSecond(t *testing.T) {
	r := seeded(t)
	first := newCrashed(t, keptJobs()[0], nil)
	line := first.h.effects[len(first.h.effects)*(50+r.IntN(40))/100].end
	if err := first.h.materialize(first.h.after(line, losses{})); err != nil {
		t.Fatal(err)
	}
	second := record(t, first.job, nil)
	second.crash(t, r)
	if second.on == 0 {
		t.Error("no sort went on")
	}
}

// TestModelFindsMissingSyncOfCheckpoint removes syncs from the trace of a sort. The model must
// then find crashes that do harm: when the manifest names the first run, the run, its name or the
// directory may be lost.
func TestModelFindsMissingSyncOfCheckpoint(t *testing.T) {
	needStrace(t)
	for name, leavesOut := range map[string]func(path string) bool{
		"none":            nil,
		"of spill":        func(path string) bool { return strings.HasPrefix(filepath.Base(path), "spill-") },
		"of indexes":      func(path string) bool { return strings.HasPrefix(filepath.Base(path), "run-") },
		"of the manifest": func(path string) bool { return filepath.Base(path) == "manifest-new" },
		"of the folder":   func(path string) bool { return filepath.Base(path) == "kept" },
		"of the folder's": func(path string) bool { return filepath.Base(path) == result },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrashed(t, keptJobs()[0], leavesOut)
			if c.keeps == never {
				c.keeps = c.entered[1] // the first run is supposed to be durable here
			}
			c.judge(t, c.h.after(c.keeps, c.h.everythingPending(c.keeps)))
			if (len(c.faults) == 0) != (leavesOut == nil) {
				t.Errorf("the faults are %q", c.faults)
			}
		})
	}
}

// TestRunIsDurableBeforeItsManifest crashes the machine right after a manifest that lists a run is
// renamed into place. Everything that is not durable yet is lost, except for that rename, as if the
// disk had reordered the renames.
func TestRunIsDurableBeforeItsManifest(t *testing.T) {
	needStrace(t)
	c := newCrashed(t, keptJobs()[0], nil)
	for _, line := range c.entered {
		lost := c.h.everythingPending(line)
		for e := range lost {
			for path := range e.names {
				if filepath.Base(path) == "manifest" {
					delete(lost, e)
				}
			}
		}
		c.judge(t, c.h.after(line, lost))
	}
	if len(c.faults) > 0 || len(c.entered) == 0 {
		t.Errorf("%d manifests name a run, the faults are %q", len(c.entered), c.faults)
	}
}

// everythingPending loses all effects that are pending at a moment.
func (h *history) everythingPending(moment int) losses {
	lost := losses{}
	names, writes := h.pending(moment)
	for _, effects := range append(slices.Collect(maps.Values(writes)), names) {
		for _, e := range effects {
			lost[e] = lostWhole
		}
	}
	return lost
}

func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// crashed is a sort with a checkpoint, with the results of crashes.
type crashed struct {
	verdict
	job    job
	h      *history
	before []byte
	// Modification times of the new output (true) and the old output (false).
	times map[bool]time.Time
	keeps int // line from which the manifest is durable and names a run

	entered []int // lines at which manifests that name a run were renamed into place

	on, anew, ended int // results of the same command after a crash
}

func newCrashed(t *testing.T, j job, leavesOut func(path string) bool) *crashed {
	t.Helper()
	j.prepare(t)
	return record(t, j, leavesOut)
}

// record runs the job in its existing directories. It ignores syncs of paths for which leavesOut
// returns true.
func record(t *testing.T, j job, leavesOut func(path string) bool) *crashed {
	t.Helper()
	c := &crashed{job: j, before: read(t, out), times: map[bool]time.Time{}}
	c.times[false] = changed(out)
	h, calls := j.record(t)
	c.h, c.times[true] = h, changed(out)
	if !bytes.Equal(read(t, out), j.want) {
		t.Fatal("the output is not in order")
	}
	if leavesOut != nil {
		calls = withoutSyncs(calls, leavesOut)
	}
	if err := h.replay(calls); err != nil {
		t.Fatal(err)
	}
	c.findManifest()
	return c
}

// changed returns the modification time of a file, or zero if there is no file.
func changed(name string) (last time.Time) {
	if info, err := os.Stat(name); err == nil {
		last = info.ModTime()
	}
	return last
}

// findManifest finds the line from which the manifest is durable and names a run. That is the
// first line if the sort continues with a run.
func (c *crashed) findManifest() {
	runs := []byte(`"runs":[{`)
	c.keeps = never
	for path, f := range c.h.initial {
		if filepath.Base(path) == "manifest" && bytes.Contains(f.before, runs) {
			c.keeps = 0
		}
	}
	named := map[*file]bool{}
	for _, e := range c.h.effects {
		if e.file != nil && bytes.Contains(e.data, runs) {
			named[e.file] = true
		}
		for path, f := range e.names {
			if filepath.Base(path) == "manifest" && named[f] {
				c.keeps = min(c.keeps, e.durable)
				c.entered = append(c.entered, e.end)
			}
		}
	}
}

// crash simulates random crashes and judges each of them.
func (c *crashed) crash(t *testing.T, r *rand.Rand) {
	t.Helper()
	n, _ := strconv.Atoi(os.Getenv(crashesEnv))
	n = max(n, crashesInTest)
	moments := c.moments()
	if testing.Short() {
		n = 2 * len(moments)
	}
	for i := range n {
		of := moments[i%len(moments)]
		moment := of[r.IntN(len(of))]
		c.judge(t, c.h.after(moment, c.h.randomLosses(r, moment)))
	}
	t.Logf("%d effects, %d crashes drawn: %d old, %d new; then %d went on, %d began anew, %d were complete",
		len(c.h.effects), c.states, c.old, c.new, c.on, c.anew, c.ended)
	for _, fault := range c.faults {
		t.Error(fault)
	}
}

// moments groups the lines of the trace by their effect: on names, the manifest, spill files, the
// output, and the end. Each group is chosen equally often, although most writes are of records.
func (c *crashed) moments() (lines [][]int) {
	by, kinds := map[string][]int{}, c.kinds()
	for _, e := range c.h.effects {
		what := kinds[e.file]
		if e.names != nil {
			what = "names"
		}
		by[what] = append(by[what], e.begin, e.end)
		if e.durable < never {
			by[what] = append(by[what], e.durable)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(by)) {
		lines = append(lines, by[what])
	}
	return append(lines, []int{c.h.exited})
}

// kinds returns the names of files without their numbers.
func (c *crashed) kinds() map[*file]string {
	kinds := map[*file]string{}
	enter := func(names map[string]*file) {
		for path, f := range names {
			kinds[f] = strings.TrimRight(filepath.Base(path), "-0123456789")
		}
	}
	enter(c.h.initial)
	for _, e := range c.h.effects {
		enter(e.names)
	}
	return kinds
}

// judge checks the files after a crash and runs the same command again.
func (c *crashed) judge(t *testing.T, s state) {
	t.Helper()
	if err := c.h.materialize(s); err != nil {
		t.Fatal(err)
	}
	found := read(t, out)
	isNew := same(found, c.job.want)
	c.look(s, found, c.before, c.job.want)
	c.lookAround(t, s, temporaryOrKept)
	if last := c.times[isNew]; found != nil {
		if err := os.Chtimes(out, last, last); err != nil {
			t.Fatal(err)
		}
	}
	c.again(t, s, found, isNew)
	c.lookAround(t, s, nothing)
}

// again runs the same command with the files that a crash left.
func (c *crashed) again(t *testing.T, s state, found []byte, isNew bool) {
	t.Helper()
	hasManifest := !changed(kept + "/manifest").IsZero()
	status, said := c.run(t)
	switch {
	case isNew && hasManifest:
		c.ended++
		if !complete.MatchString(said) {
			c.fault(s, "the output is complete, and the same command says: %s", said)
		}
	case strings.Contains(said, "from the checkpoint"):
		c.on++
	case s.moment >= c.keeps && !isNew:
		c.fault(s, "finished runs are lost")
	default:
		c.anew++
	}
	if status != 0 || !same(read(t, out), c.job.want) {
		c.fault(s, "the same command ends with %d, not the right bytes, or: %s", status, said)
	}
}

var (
	temporaryOrKept = regexp.MustCompile(temporary.String() + `|^kept$`)
	nothing         = regexp.MustCompile(`^$`)
	complete        = regexp.MustCompile(`\Aextsort: warning: an earlier run has completed output .*\n`)
)

// run returns the exit status of the command and its messages.
func (c *crashed) run(t *testing.T) (int, string) {
	t.Helper()
	cmd := exec.Command(c.job.args[0], c.job.args[1:]...)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(said)
}
