//go:build linux

// Package powerloss replays the file operations of a sort into every state that a crash of the
// machine may leave, and checks that the output is the complete old or the complete new one. It
// consists of tests only.
//
// The method is taken from ALICE (Pillai et al., All File Systems Are Not Created Equal, OSDI
// 2014): strace records the calls of the real command (trace_test.go). A model knows the effect of
// each call, and when POSIX guarantees that it is durable, which is less than ext4 and XFS
// guarantee (calls_test.go, model_test.go). A crash loses any part of the effects that are not
// durable yet (losses_test.go, crash_test.go). The tests assume that a disk keeps all data for
// which it has confirmed a flush.
package powerloss

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// The directories of a test: the inputs, the watched directory, and the temporary files, which
// need not survive a crash.
const (
	data   = "data"
	result = "result"
	spill  = "spill"
	out    = result + "/out"
)

// extsort is the path of the command, which TestMain builds.
var extsort string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		leaveMemory()
		folder, err := os.MkdirTemp("", "extsort-powerloss-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(folder)
		extsort = filepath.Join(folder, "extsort")
		build := exec.Command("go", "build", "-o", extsort, "github.com/extsort/extsort/cmd/extsort")
		// The command must run without shared libraries.
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if said, err := build.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %s", err, said))
		}
		return m.Run()
	}())
}

// leaveMemory moves temporary files to a disk if /tmp is in memory. Files in memory are written
// through memory maps, which the model does not support, and nothing of them survives a power
// loss.
func leaveMemory() {
	var system unix.Statfs_t
	if unix.Statfs(os.TempDir(), &system) == nil && system.Type == unix.TMPFS_MAGIC {
		os.Setenv("TMPDIR", "/var/tmp")
	}
}

// A job is a command that writes result/out.
type job struct {
	name string
	args []string // including the program
	old  string   // data file with the old output; "": none
	want []byte   // expected output, decompressed
	many int      // number of keys in data/many; 0: no such file
	root bool     // the directory is the root of the file system, which has no /proc
	over bool     // the output is overwritten in place, and is complete only at the end
}

func (j job) String() string { return j.name }

const (
	fewKeys  = 20_000
	manyKeys = 2_500_000 // more than fit into the minimum memory
)

func jobs() []job {
	_, few := keys(fewKeys)
	_, many := keys(manyKeys)
	sort := func(args ...string) []string {
		return append([]string{extsort, "-t", "u64", "-T", spill, "--parallel", "2", "-o", out}, args...)
	}
	set := func(verb string, args ...string) []string {
		return append([]string{extsort, verb, "-t", "u64", "--parallel", "2", "data/sorted", "data/none"}, args...)
	}
	return []job{
		{name: "new", args: sort("data/few"), want: few},
		{name: "replaced", args: sort("data/few"), old: "data/old", want: few},
		{name: "in place", args: sort(out), old: "data/few", want: few},
		{name: "compressed", args: sort("--compress", "zstd", "data/few"), old: "data/old", want: few},
		{name: "merge", args: sort("-m", "data/sorted", "data/none"), old: "data/old", want: few},
		{name: "union", args: set("union", "-o", out), old: "data/old", want: few},
		{name: "comparison", args: set("compare", "--only-a", out), old: "data/old", want: few},
		{name: "overwritten", over: true, old: "data/few", want: few, args: []string{
			"sh", "-c", "exec " + extsort + " -t u64 -T spill --parallel 2 result/out 1<> result/out"}},
		{name: "empty", args: sort("data/none"), old: "data/old"},
		{name: "empty, new", args: sort("data/none")},
		{name: "without proc", root: true, old: "data/old", want: few,
			args: slices.Concat([]string{"chroot", ".", "/extsort"}, sort("data/few")[1:])},
		{name: "spilled", many: manyKeys, old: "data/old", want: many,
			args: sort("-S", "16M", "--strategy", "merge", "data/many")},
	}
}

// keys returns n random numbers as bytes, and the same numbers in sorted order.
func keys(n int) (shuffled, sorted []byte) {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = r.Uint64()
	}
	shuffled, _ = binary.Append(nil, binary.LittleEndian, numbers)
	slices.Sort(numbers)
	sorted, _ = binary.Append(nil, binary.LittleEndian, numbers)
	return shuffled, sorted
}

// prepare creates the directories of a job and changes to them.
func (j job) prepare(t *testing.T) {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	few, sorted := keys(fewKeys)
	files := map[string][]byte{"few": few, "sorted": sorted, "none": nil, "old": []byte("what stood there before")}
	if j.many > 0 {
		files["many"], _ = keys(j.many)
	}
	for _, name := range []string{data, result, spill} {
		err = errors.Join(err, os.Mkdir(name, 0o777))
	}
	for name, bytes := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(data, name), bytes, 0o666))
	}
	if j.old != "" {
		err = errors.Join(err, os.WriteFile(out, read(t, j.old), 0o666))
	}
	if j.root {
		err = errors.Join(err, os.Link(extsort, "extsort"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// read returns the content of a file, or nil if there is no file.
func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return content
}

// record runs the job under strace.
func (j job) record(t *testing.T) (*history, []call) {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHistory(filepath.Join(folder, result))
	if err != nil {
		t.Fatal(err)
	}
	return h, trace(t, j.args)
}

// A verdict counts the results of crashes.
type verdict struct {
	states, old, new int
	faults           []string // the first few
}

const maxFaults = 5

func (v *verdict) fault(s state, format string, args ...any) {
	if len(v.faults) < maxFaults {
		v.faults = append(v.faults, fmt.Sprintf("%v: ", s)+fmt.Sprintf(format, args...))
	}
}

// temporary matches files that a crash may leave next to the output.
var temporary = regexp.MustCompile(`^\.out\.extsort-[0-9a-f]{16}$`)

// judge checks result/out after every crash. It must be the old or the new file, and the new one
// once the command has begun to exit.
func (h *history) judge(t *testing.T, before, after []byte) (v verdict) {
	t.Helper()
	for s := range h.crashes() {
		if err := h.materialize(s); err != nil {
			t.Fatal(err)
		}
		found := read(t, out)
		if h.over && !s.finished && !same(found, before) {
			v.states++
			continue
		}
		v.look(s, found, before, after)
		v.lookAround(t, s, temporary)
	}
	return v
}

// look checks the output after a crash.
func (v *verdict) look(s state, found, before, after []byte) {
	v.states++
	switch isOld, isNew := same(found, before), same(found, after); {
	case isNew:
		v.new++
	case isOld && !s.finished:
		v.old++
	case isOld:
		v.fault(s, "the new output is lost")
	default:
		v.fault(s, "the output has %d bytes, neither the old nor the new ones", len(found))
	}
}

// lookAround checks the files next to the output.
func (v *verdict) lookAround(t *testing.T, s state, may *regexp.Regexp) {
	t.Helper()
	entries, err := os.ReadDir(result)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); name != "out" && !may.MatchString(name) {
			v.fault(s, "%s is left", name)
		}
	}
}

// same compares the contents of files. A missing file differs from an empty one.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// TestPowerLoss simulates crashes at every moment of a job.
func TestPowerLoss(t *testing.T) {
	needStrace(t)
	for _, j := range jobs() {
		t.Run(j.name, func(t *testing.T) {
			if j.root && os.Getuid() != 0 {
				t.Skip("only root can change the root")
			}
			if testing.Short() && len(j.want) > 8*fewKeys {
				t.Skip("not in short mode")
			}
			j.prepare(t)
			before := read(t, out)
			h, calls := j.record(t)
			after := read(t, out)
			if plain := unzstd(t, after); !bytes.Equal(plain, j.want) {
				t.Fatalf("the output has %d bytes, not those in order", len(plain))
			}
			if err := h.replay(calls); err != nil {
				t.Fatal(err)
			}
			h.over = j.over
			v := h.judge(t, before, after)
			t.Logf(
				"%d calls, %d effects, %d states: %d old, %d new",
				len(calls),
				len(h.effects),
				v.states,
				v.old,
				v.new,
			)
			if v.old == 0 || v.new == 0 || h.exited == 0 {
				t.Error("the output was never old, or never new")
			}
			for _, fault := range v.faults {
				t.Error(fault)
			}
		})
	}
}

// unzstd decompresses data if it is a zstd frame.
func unzstd(t *testing.T, packed []byte) []byte {
	t.Helper()
	if !bytes.HasPrefix(packed, []byte("\x28\xb5\x2f\xfd")) {
		return packed
	}
	r, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	plain, err := r.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// TestModelFindsMissingSync removes syncs from the trace of a sort. The model must then find
// crashes that do harm.
func TestModelFindsMissingSync(t *testing.T) {
	needStrace(t)
	for _, j := range jobs()[:4] {
		for what, leavesOut := range map[string]func(path string) bool{
			"file":   func(path string) bool { return filepath.Base(path) != result },
			"folder": func(path string) bool { return filepath.Base(path) == result },
		} {
			t.Run(j.name+"/"+what, func(t *testing.T) {
				j.prepare(t)
				before := read(t, out)
				h, calls := j.record(t)
				fewer := withoutSyncs(calls, leavesOut)
				after := read(t, out)
				if err := h.replay(fewer); err != nil {
					t.Fatal(err)
				}
				v := h.judge(t, before, after)
				if len(fewer) == len(calls) || len(v.faults) == 0 {
					t.Errorf("%d of %d calls are left, and no crash of %d does harm", len(fewer), len(calls), v.states)
				}
			})
		}
	}
}

func withoutSyncs(calls []call, leavesOut func(path string) bool) []call {
	return slices.DeleteFunc(slices.Clone(calls), func(c call) bool {
		return strings.HasSuffix(c.name, "sync") && leavesOut(descriptor.FindStringSubmatch(c.args[0])[2])
	})
}

// TestModelJudges checks the model's verdicts on other ways to replace a file by "new\n", for
// which the result is known.
func TestModelJudges(t *testing.T) {
	const (
		create = `1 openat(-100<W>, "result/.out.extsort-0000000000000000", 0xc1, 0666)` +
			` = 3<W/result/.out.extsort-0000000000000000>` + "\n"
		write  = `1 write(3<W/result/.out.extsort-0000000000000000>, "new\n", 4) = 4` + "\n"
		sync   = `1 fsync(3<W/result/.out.extsort-0000000000000000>) = 0` + "\n"
		rename = `1 renameat(4<W/result>, ".out.extsort-0000000000000000", 4<W/result>, "out") = 0` + "\n"
		folder = `1 fsync(4<W/result>) = 0` + "\n"
		exit   = `1 exit_group(0) = ?` + "\n"

		truncate = `1 openat(-100<W>, "result/out", 0x201) = 3<W/result/out>` + "\n"
		inPlace  = `1 write(3<W/result/out>, "new\n", 4) = 4` + "\n" + `1 fsync(3<W/result/out>) = 0` + "\n"

		lateWrite = `2 write(3<W/result/.out.extsort-0000000000000000>, "new\n", 4 <unfinished ...>` + "\n"
		lateEnd   = `2 <... write resumed>) = 4` + "\n"
	)
	for name, c := range map[string]struct {
		trace string
		safe  bool
	}{
		"as it should be":       {create + write + sync + rename + folder + exit, true},
		"bytes not synced":      {create + write + rename + folder + exit, false},
		"synced too late":       {create + write + rename + sync + folder + exit, false},
		"name not synced":       {create + write + sync + rename + exit, false},
		"name synced too soon":  {create + write + sync + folder + rename + exit, false},
		"written over":          {truncate + inPlace + folder + exit, false},
		"written during a sync": {create + lateWrite + sync + lateEnd + rename + folder + exit, false},
	} {
		t.Run(name, func(t *testing.T) {
			job{old: "data/old"}.prepare(t)
			w, _ := os.Getwd()
			h, err := newHistory(filepath.Join(w, result))
			if err == nil {
				err = os.WriteFile("trace", []byte(strings.ReplaceAll(c.trace, "W", w)), 0o666)
			}
			if err == nil {
				err = h.replay(parseTrace(t, "trace"))
			}
			if err != nil {
				t.Fatal(err)
			}
			if v := h.judge(t, read(t, "data/old"), []byte("new\n")); c.safe != (len(v.faults) == 0) || v.new == 0 {
				t.Errorf("%d states, %d new, faults %q", v.states, v.new, v.faults)
			}
		})
	}
}
