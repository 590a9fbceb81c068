package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/internal/testfiles"
)

// killsEnv names the variable with the number of sorts with a checkpoint to kill. .ci/long sets it.
const killsEnv = "EXTSORT_TEST_KILLS"

// started is the maximum number of bytes that the program reads at start-up, in addition to data.
// The exact number varies.
const started = 4 << 20

// TestKilledSortsGoOn kills sorts with a checkpoint at random moments, repeatedly. Each sort must
// end with the same bytes as an undisturbed sort and leave nothing behind. If it merges once, all
// attempts together may read no more than that sort, plus the records in flight at each kill and
// the output written so far, which each attempt verifies.
func TestKilledSortsGoOn(t *testing.T) {
	t.Parallel()
	kills, _ := strconv.Atoi(os.Getenv(killsEnv))
	kills = max(kills, 6)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	mustRun(t, dir, "gen", "-t", "u64", "-n", "4Mi", "--seed", "5", "-o", in)
	const outputBytes = 4 << 20 * 8
	sorts := []struct {
		flags []string
		once  bool
	}{
		{[]string{"-S", "16M"}, true},
		{[]string{"-S", "16M", "--batch-size", "6", "--verify"}, false},
		{[]string{"-S", "20M", "--limit", "3000000", "--spill-compress", "delta"}, false},
		{[]string{"-S", "16M", "-u", "--compress", "zstd"}, false},
	}
	for killed, i := 0, 0; killed < kills; i++ {
		s := sorts[i%len(sorts)]
		k := &killing{dir: dir, args: append([]string{"-t", "u64", "-o", "out", "in"}, s.flags...), r: r}
		k.alone(t)
		for !k.again(t, true) && k.kills < 12 { // with shorter and shorter times, the sort would never end
		}
		for !k.done && !k.again(t, false) {
		}
		k.check(t)
		most := k.bytesAlone + int64(k.kills)*(k.inFlight+outputBytes) + started
		if s.once && k.bytes > most {
			t.Errorf("%q: %d bytes were read in all, with %d kills; alone %d, and %d may be in flight", s.flags,
				k.bytes, k.kills, k.bytesAlone, k.inFlight)
		}
		t.Logf("%q: killed %d times, %d MiB were read, %d MiB alone", s.flags, k.kills, k.bytes>>20, k.bytesAlone>>20)
		killed += max(k.kills, 1)
	}
}

// killing is a sort that is killed repeatedly.
type killing struct {
	dir  string
	args []string
	r    *rand.Rand

	want                 []byte
	took                 time.Duration
	bytesAlone, inFlight int64

	kills int
	bytes int64 // bytes read
	done  bool
}

// alone sorts without a checkpoint, and then with one.
func (k *killing) alone(t *testing.T) {
	t.Helper()
	mustRun(t, k.dir, append(k.args, "--strategy", "merge")...)
	k.want = readFile(t, k.dir, "out")
	var p struct {
		ChunkRecords int64 `json:"chunk_records"`
	}
	text := mustRun(t, k.dir, append([]string{"plan", "--stats=json", "--checkpoint", "kept"}, k.args...)...)
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	const blocks = 16 << 20 // bytes of the runs that a merge holds in memory
	k.inFlight = 3*8*p.ChunkRecords + started + blocks
	begin := time.Now()
	k.again(t, false)
	k.took = time.Since(begin)
	k.check(t)
	k.bytesAlone, k.bytes, k.done = k.bytes, 0, false
	if err := os.Remove(filepath.Join(k.dir, "out")); err != nil {
		t.Fatal(err)
	}
}

// again starts the command, kills it if requested, and reports whether it ended by itself.
func (k *killing) again(t *testing.T, kill bool) bool {
	t.Helper()
	cmd := exec.Command("extsort", append(k.args, "--checkpoint", "kept")...)
	cmd.Dir = k.dir
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		// These are the bytes of the whole run. The process has ended, but its entry exists until
		// Wait.
		k.bytes += bytesRead(t, cmd.Process.Pid)
		ended <- errors.Join(err, cmd.Wait())
	}()
	moment := time.After(time.Hour)
	if kill {
		moment = time.After(time.Duration(k.r.Int64N(int64(k.took) + 1)))
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("%q: %v: %s", k.args, err, said.String())
		}
		k.done = true
	case <-moment:
		cmd.Process.Kill()
		err := <-ended
		// There may have been nothing left to do.
		k.done = err == nil || k.has("out") && !k.has("kept")
		if !k.done {
			k.kills++
		}
	}
	return k.done
}

func (k *killing) has(name string) bool {
	_, err := os.Stat(filepath.Join(k.dir, name))
	return err == nil
}

// bytesRead returns the number of bytes that a process has read.
func bytesRead(t *testing.T, pid int) (n int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if _, bad := fmt.Sscanf(string(text), "rchar: %d", &n); bad != nil {
		t.Errorf("%v, %v: %s", err, bad, text)
	}
	return n
}

// check compares the output and checks that no other files are left over.
func (k *killing) check(t *testing.T) {
	t.Helper()
	if !bytes.Equal(readFile(t, k.dir, "out"), k.want) {
		t.Fatalf("%q: the output is not that of an uninterrupted sort", k.args)
	}
	entries, err := os.ReadDir(k.dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%q: there is %v, %v", k.args, entries, err)
	}
}

func readFile(t *testing.T, dir, name string) []byte {
	t.Helper()
	return testfiles.Read(t, filepath.Join(dir, name))
}

func mustRun(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("extsort", args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("extsort %q: %v: %s", args, err, said.String())
	}
	return out
}
