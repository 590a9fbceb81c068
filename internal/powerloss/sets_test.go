//go:build linux

package powerloss

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
	"github.com/extsort/extsort/merge/output"
)

// A setJob is a sort that writes result/out.000 and so on, and result/out.index.
type setJob struct {
	name string
	old  []string // arguments of the sort that writes the old set; nil: there is none
	args []string // arguments of the sort
	next []string // arguments of the sort after a crash; nil: args

	inPlace bool // the files of the old set are the inputs
}

func setJobs() []setJob {
	sort := func(args ...string) []string {
		return append([]string{extsort, "-t", "u64", "-T", spill, "--parallel", "2", "-o", out, "--split"}, args...)
	}
	inResult := func(args ...string) []string {
		return append([]string{"env", "-C", result, extsort, "-t", "u64", "-o", "out", "--split"}, args...)
	}
	return []setJob{
		{name: "over more files", old: sort("4", "data/other"), args: sort("2", "data/few")},
		{name: "over fewer files", old: sort("2", "data/other"), args: sort("4", "data/few")},
		{name: "new", args: sort("2", "data/few")},
		{name: "then of fewer files", args: sort("4", "data/few"), next: sort("2", "data/few")},
		{name: "of a size", old: sort("3", "data/other"), args: sort("64K", "--compress", "zstd", "data/few")},
		{name: "merge", old: sort("3", "data/other"), args: sort("3", "-m", "data/sorted", "data/none")},
		{name: "in its directory", old: sort("3", "data/other"), args: inResult("2", "../data/few")},
		{name: "in place", inPlace: true, old: sort("3", "-r", "data/few"),
			args: sort("3", out+".000", out+".001", out+".002")},
	}
}

// A crashedSet is a recorded setJob, with the results of crashes.
type crashedSet struct {
	verdict
	setJob
	h              *history
	calls          []call
	old, new, last files // before, after the job, and after the sort that follows a crash
	unindexed      int   // number of states without an index
	retried        int   // number of crashes that a sort followed

	seen map[string]bool // the sums of all states
}

// files are the contents of result/out.*, by name.
type files map[string]string

// readFiles returns the files in the directory of the results.
func readFiles(t *testing.T) files {
	t.Helper()
	all := files{}
	for _, name := range testfiles.Names(t, result) {
		all[name] = string(read(t, filepath.Join(result, name)))
	}
	return all
}

// records returns the records of the files that the index lists.
func (f files) records(t *testing.T) (records []byte) {
	t.Helper()
	var index output.Index
	if err := json.Unmarshal([]byte(f["out.index"]), &index); err != nil {
		t.Fatal(err)
	}
	for _, entry := range index.Files {
		records = append(records, unzstd(t, []byte(f[entry.Name]))...)
	}
	return records
}

// include reports whether all files of a set are there.
func (f files) include(set files) bool {
	for name, content := range set {
		if found, ok := f[name]; !ok || found != content {
			return false
		}
	}
	return true
}

// recordSet runs the sorts of a job.
func recordSet(t *testing.T, j setJob) *crashedSet {
	t.Helper()
	job{}.prepare(t)
	other, _ := keys(fewKeys / 2)
	if err := os.WriteFile(data+"/other", other, 0o666); err != nil {
		t.Fatal(err)
	}
	c := &crashedSet{setJob: j, seen: map[string]bool{}}
	if j.old != nil {
		c.mustRun(t, j.old)
	}
	c.old = readFiles(t)
	c.h, c.calls = job{args: j.args}.record(t)
	c.new = readFiles(t)
	c.last = c.new
	if j.next != nil {
		c.mustRun(t, j.next)
		c.last = readFiles(t)
	}
	if _, few := keys(fewKeys); !bytes.Equal(c.new.records(t), few) || !bytes.Equal(c.last.records(t), few) {
		t.Fatal("the records are not those in order")
	}
	return c
}

func (c *crashedSet) mustRun(t *testing.T, args []string) {
	t.Helper()
	if said, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, said)
	}
}

// afterCrash matches the files that a crash may leave.
var afterCrash = regexp.MustCompile(`^out\.\w+(\.zst)?$|^\.out(\.\w+(\.zst)?)?` +
	`\.extsort-(naming|naming-new|old-index|[0-9a-f]{16})$`)

// judge checks the files after a crash: if there is an index, then all of its files are there. The next sort must
// replace them all.
func (c *crashedSet) judge(t *testing.T, s state, retry bool) {
	t.Helper()
	if err := c.h.materialize(s); err != nil {
		t.Fatal(err)
	}
	c.states++
	found := readFiles(t)
	_, indexed := found["out.index"]
	switch isOld := found.include(c.old); {
	case indexed && found.include(c.new):
		c.verdict.new++
	case indexed == (len(c.old) > 0) && isOld && !s.finished:
		c.verdict.old++
	case indexed || s.finished:
		c.fault(s, "the files of the index are not those of one set")
	default:
		c.unindexed++
	}
	c.lookAround(t, s, afterCrash)
	if !retry {
		return
	}

	c.retried++
	args := c.args
	if c.next != nil {
		args = c.next
	}
	said, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if !indexed && c.inPlace && bytes.Contains(said, []byte("or was interrupted while it did")) {
		renameNew(t) // as the documentation says
		if !readFiles(t).include(c.new) {
			c.fault(s, "records are lost")
		}
		said, err = exec.Command(args[0], args[1:]...).CombinedOutput()
	}
	got := readFiles(t)
	switch {
	case err != nil:
		c.fault(s, "the next sort fails: %s", said)
	case !got.include(c.last):
		c.fault(s, "the next sort leaves wrong bytes")
	case len(got) > len(c.last):
		c.fault(s, "the next sort leaves %v", slices.Sorted(maps.Keys(got)))
	}
}

// hiddenNew matches the temporary names of the files of a new set.
var hiddenNew = regexp.MustCompile(`^\.(out\.\w+)\.extsort-[0-9a-f]{15}0$`)

// renameNew completes the naming of a set that a crash has interrupted.
func renameNew(t *testing.T) {
	t.Helper()
	for _, name := range testfiles.Names(t, result) {
		if final := hiddenNew.FindStringSubmatch(name); final != nil {
			if err := os.Rename(filepath.Join(result, name), filepath.Join(result, final[1])); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestPowerLossOfSet simulates crashes at every moment of a sort that writes a set of files. In short mode, a sort
// follows only some of them.
func TestPowerLossOfSet(t *testing.T) {
	needStrace(t)
	for i, j := range setJobs() {
		t.Run(j.name, func(t *testing.T) {
			if testing.Short() && i > 2 {
				t.Skip("not in short mode")
			}
			c := recordSet(t, j)
			if err := c.h.replay(c.calls); err != nil {
				t.Fatal(err)
			}
			for s := range c.h.crashes() {
				c.judge(t, s, !testing.Short() || c.states%16 == 0)
			}
			t.Logf("%d effects, %d states: %d old, %d new, %d without an index; %d sorts followed",
				len(c.h.effects), c.states, c.verdict.old, c.verdict.new, c.unindexed, c.retried)
			if c.verdict.old == 0 || c.verdict.new == 0 || (c.unindexed == 0) != (j.old == nil) {
				t.Error("the set was never old, never new or always there")
			}
			for _, fault := range c.faults {
				t.Error(fault)
			}
		})
	}
}

// sum returns the same text for states with the same files.
func (s state) sum() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		fmt.Fprintf(sum, "%q %d %t ", name, len(s.files[name]), s.finished)
		sum.Write(s.files[name])
	}
	return string(sum.Sum(nil))
}

// TestModelFindsMissingSyncOfSet leaves out each sync of a sort in turn, and then removes the journal too early.
// Each time, a state that the sort itself cannot leave must do harm.
func TestModelFindsMissingSyncOfSet(t *testing.T) {
	needStrace(t)
	if testing.Short() {
		t.Skip("not in short mode")
	}
	for _, j := range setJobs()[:2] {
		c := recordSet(t, j)
		calls, before := c.calls, c.h.after(-1, losses{})
		if err := c.h.replay(calls); err != nil {
			t.Fatal(err)
		}
		for s := range c.h.crashes() {
			c.seen[s.sum()] = true
		}
		find := func(suffix string) int {
			return slices.IndexFunc(calls, func(c call) bool {
				return c.name == "unlinkat" && strings.HasSuffix(c.args[1], suffix)
			})
		}
		oldIndex, stale := find(`.out.extsort-old-index"`), find(`/out.002"`)
		for i, call := range calls {
			// If old files are removed, a sync after that makes the name of the index durable as well.
			last := stale >= 0 && i < oldIndex && calls[i+1].name == "unlinkat"
			if call.name == "fsync" && !last {
				t.Run(fmt.Sprint(j.name, " ", i, call.args), func(t *testing.T) {
					c.mustFind(t, before, slices.Delete(slices.Clone(calls), i, i+1))
				})
			}
		}
		if journal := find(`.out.extsort-naming"`); stale >= 0 {
			early := slices.Clone(calls)
			early[stale].args, early[journal].args = early[journal].args, early[stale].args
			t.Run("journal", func(t *testing.T) { c.mustFind(t, before, early) })
		}
	}
}

// mustFind replays other calls from the same beginning.
func (c *crashedSet) mustFind(t *testing.T, before state, calls []call) {
	t.Helper()
	folder, err := os.Getwd()
	if err == nil {
		err = c.h.materialize(before)
	}
	if err == nil {
		c.h, err = newHistory(filepath.Join(folder, result))
	}
	if err == nil {
		err = c.h.replay(calls)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.faults = nil
	for _, retry := range []bool{false, true} {
		for s := range c.h.crashes() {
			if c.seen[s.sum()] {
				continue
			}
			if c.judge(t, s, retry); len(c.faults) > 0 {
				t.Log(c.faults[0])
				return
			}
		}
	}
	t.Error("no other state does harm")
}
