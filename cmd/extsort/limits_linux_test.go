package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/extsort/extsort/internal/testfiles"
)

// The tests in this file run the command under limits set by the system. A test that cannot set
// its limit is skipped with the reason. Quotas are simulated by injected faults
// (TestOutputWithoutRoom and similar tests of chunker/spill).

// shell runs a script with the command in its path and returns its exit status and its output.
func shell(t *testing.T, script string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, said bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, time.Second
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), said.String()
}

// sorts runs a script that writes the output out, and compares the output with the expected
// bytes.
func sorts(t *testing.T, want []byte, out, script string, args ...string) {
	t.Helper()
	os.Remove(out)
	status, _, said := shell(t, script, args...)
	if got, err := os.ReadFile(out); status != 0 || err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: exit %d, %d of %d bytes or other ones: %s", script, status, len(got), len(want), said)
	}
}

// refuses runs a script that must exit with status 2 and one line.
func refuses(t *testing.T, says, script string, args ...string) {
	t.Helper()
	status, _, said := shell(t, script, args...)
	if status != 2 || !regexp.MustCompile(`\Aextsort: `+says+`\n\z`).MatchString(said) {
		t.Errorf("%s: exit %d: %s", script, status, said)
	}
}

// testData writes n random u64 to the file in of a new directory, which also contains a directory
// for spill files. It returns the sorted records.
func testData(t *testing.T, n string) (folder string, sorted []byte) {
	t.Helper()
	folder = t.TempDir()
	script := `mkdir "$1/spill" && cd "$1" && extsort gen -t u64 -n $2 -o in && extsort -t u64 -o sorted in`
	if status, _, said := shell(t, script, folder, n); status != 0 {
		t.Fatal(said)
	}
	return folder, testfiles.Read(t, filepath.Join(folder, "sorted"))
}

// TestLimitOfOpenFiles uses 40 inputs, or many workers, while only 20 files may be open.
func TestLimitOfOpenFiles(t *testing.T) {
	t.Parallel()
	folder, _ := testData(t, "10k")
	copies := `cd "$1" && extsort -t u64 -o in.zst in && extsort -t u64 -m -o sorted.zst sorted &&
		for i in $(seq 40); do ln in raw.$i; ln in.zst packed.$i; ln sorted sorted.$i; ln sorted.zst both.$i; done &&
		cat raw.* | extsort -t u64 -o all`
	if status, _, said := shell(t, copies, folder); status != 0 {
		t.Fatal(said)
	}
	out := filepath.Join(folder, "out")
	want := testfiles.Read(t, filepath.Join(folder, "all"))
	for _, command := range []string{"raw.*", "packed.*", "-m sorted.[0-9]*", "-m both.*"} {
		sorts(t, want, out, `ulimit -n 20; cd "$1" && extsort -t u64 -o out `+command, folder)
	}
	large, want := testData(t, "3M")
	sorts(t, want, filepath.Join(large, "out"),
		`ulimit -n 20; cd "$1" && extsort -t u64 --parallel 8 -S 24M --strategy merge -T spill -o out in`, large)
	for i := range 40 {
		name := filepath.Join(folder, fmt.Sprintf("fifo.%d", i))
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Skip("no FIFOs here:", err)
		}
		both, err := os.OpenFile(name, os.O_RDWR, 0) // with O_RDWR, opening a FIFO never blocks
		if err != nil {
			t.Fatal(err)
		}
		defer both.Close()
		// A sort waits for the first 512 bytes of an input to recognize its format.
		if _, err := both.Write(make([]byte, 4096)); err != nil {
			t.Fatal(err)
		}
	}
	refuses(t, `fifo.*: too many open files \(raise ulimit -n.*\)`,
		`ulimit -n 20; cd "$1" && extsort -t u64 -m fifo.*`, folder)
	refuses(
		t,
		`.*: too many open files \(raise ulimit -n.*\)`,
		`ulimit -n 7; cd "$1" && extsort -t u64 -o out in`,
		folder,
	)
}

// TestLimitOfFileSize checks that an output is rejected before the work starts, also on a file
// system in memory.
func TestLimitOfFileSize(t *testing.T) {
	folder, _ := testData(t, "400k")
	says := `reserve 3.1 MiB for output .*: file too large; .*: raise ulimit -f, or write elsewhere`
	for _, at := range []string{folder, "/dev/shm"} {
		if _, err := os.Stat(at); err != nil {
			t.Log("not in memory:", err)
			continue
		}
		at = filepath.Join(at, fmt.Sprintf("extsort-test-%d", os.Getpid()))
		refuses(t, says, `ulimit -f 1000; exec extsort -t u64 -o "$2" "$1/in"`, folder, at)
		if _, err := os.Stat(at); err == nil {
			t.Error("something was left at", at)
			os.Remove(at)
		}
	}
}

// TestLimitOfAddressSpace asks for more memory than the process may have. Go itself reserves
// about 1.4 GB of addresses, and with cgo, each thread reserves up to 0.14 GB.
func TestLimitOfAddressSpace(t *testing.T) {
	if status, _, said := shell(t, `ulimit -v 5000000; extsort --version`); status != 0 {
		t.Skip("Go does not begin with 5 GB of addresses, as with its race detector:", said[:min(len(said), 200)])
	}
	refuses(t, `allocate .*iB of memory: cannot allocate memory \(lower -S, or raise ulimit -v\)`,
		`ulimit -v 5000000; head -c 4M /dev/zero | extsort -t u64 -S 6G -o /dev/null`)
}

// TestSmallFileSystem puts spill files or the output on a file system of 4 MiB.
func TestSmallFileSystem(t *testing.T) {
	const mounted = `mkdir small && mount -t tmpfs -o size=4m none small && `
	if status, _, said := shell(t, `cd "$1" && unshare -rm sh -c "$2 true"`, t.TempDir(), mounted); status != 0 {
		t.Skip("no mount of one's own here:", said)
	}
	folder, want := testData(t, "3M")
	in := func(command string) string {
		return `cd "$1" && rm -rf small && unshare -rm sh -c '` + mounted + command + `'`
	}
	spilling := "extsort -t u64 -S 16M --parallel 2 --strategy merge -o out "
	// The size of a pipe is unknown, so the full directory is detected only while it is being
	// written.
	sorts(t, want, filepath.Join(folder, "out"), in("cat in | "+spilling+"-T small -T spill"), folder)
	// The small file system is in memory, so a warning precedes the error.
	refuses(t, `temporary directory small is full: temporary data needs at least .*-T.*`,
		in("cat in | "+spilling+"-T small 2>said; status=$?; grep -v tmpfs said >&2; exit $status"), folder)
	refuses(t, `reserve .* for output small/out in small: .*free some space.*`,
		in(`echo old > small/out; extsort -t u64 -o small/out in; status=$?;
			echo old | cmp - small/out && ls -A small >&3; exit $status`)+` 3>"$1/left"`, folder)
	if left, err := os.ReadFile(filepath.Join(folder, "left")); string(left) != "out\n" {
		t.Errorf("the full file system has %q, %v", left, err)
	}
}

// TestLimitOfGroupMemory sorts in a cgroup with little memory. extsort must detect that limit.
func TestLimitOfGroupMemory(t *testing.T) {
	group := ""
	for _, limit := range []string{"/sys/fs/cgroup/%s/memory.max", "/sys/fs/cgroup/memory/%s/memory.limit_in_bytes"} {
		limit = fmt.Sprintf(limit, fmt.Sprintf("extsort-test-%d", os.Getpid()))
		if os.Mkdir(filepath.Dir(limit), 0o700) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(filepath.Dir(limit)) })
		// In a cgroup, the kernel has created the file.
		if file, err := os.OpenFile(limit, os.O_WRONLY, 0); err == nil {
			if _, err := file.WriteString("67108864"); err == nil {
				group = filepath.Dir(limit)
			}
			file.Close()
		}
	}
	if group == "" {
		t.Skip("no cgroup with a limit of memory can be made here")
	}
	folder, want := testData(t, "5M")
	join := `echo $$ > "$2/cgroup.procs" || exit 3; cd "$1" && exec extsort -t u64 -T spill -o out --stats in`
	if status, _, said := shell(t, join, folder, group); status == 3 {
		t.Skip("no process can be moved to a cgroup here:", said)
	}
	sorts(t, want, filepath.Join(folder, "out"), join, folder, group)
	if status, _, said := shell(t, join, folder, group); status != 0 || strings.Contains(said, "in-core") {
		t.Errorf("exit %d: %s", status, said)
	}
}

// TestStoppedSortGoesOn stops a sort that spills and lets it continue.
func TestStoppedSortGoesOn(t *testing.T) {
	folder, want := testData(t, "3M")
	sorts(t, want, filepath.Join(folder, "out"),
		`cd "$1" && extsort -t u64 -S 16M --parallel 2 --strategy merge -T spill -o out in & `+
			`for i in 1 2 3; do sleep .05; kill -STOP $! && sleep .05; kill -CONT $!; done; wait $!`, folder)
}

// TestKilledBetweenLinkAndRename kills a run while its file has a temporary name. The next run
// must remove that file.
func TestKilledBetweenLinkAndRename(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("no strace here:", err)
	}
	folder, want := testData(t, "1000")
	out := filepath.Join(folder, "out")
	testfiles.Write(t, out, []byte("old"))
	kill := `cd "$1" && strace -f -o trace -e trace=/renameat -e inject=/renameat:signal=KILL extsort -t u64 -o out in`
	_, _, said := shell(t, kill, folder)
	left, err := filepath.Glob(filepath.Join(folder, ".out.extsort-*"))
	if got, _ := os.ReadFile(out); err != nil || string(got) == "old" && len(left) == 0 {
		t.Skip("strace does not kill here:", said)
	} else if string(got) != "old" || len(left) != 1 {
		t.Fatalf("%d bytes of output, beside %q", len(got), left)
	}
	sorts(t, want, out, `cd "$1" && extsort -t u64 -o out in`, folder)
	if left, _ := filepath.Glob(filepath.Join(folder, ".out.extsort-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestFirstProcessIsTerminated sends SIGTERM to the first process of a container, which the
// system does not kill. The process must report the signal in one line and exit with the status
// that a shell shows for it.
func TestFirstProcessIsTerminated(t *testing.T) {
	if status, _, said := shell(t, `unshare -rpf true`); status != 0 {
		t.Skip("no processes of one's own here:", said)
	}
	const script = `cd "$1" && mkfifo in && { sleep 60 > in & } && writer=$!
		unshare -rpf sh -c 'exec extsort -t u64 -o out - < in' & container=$!
		begun() { first=$(ps -o pid= --ppid $container | tr -d " ") && grep -q extsort /proc/$first/comm; }
		until begun 2> /dev/null; do sleep 0.05; done
		sleep 0.5
		kill -TERM $first
		wait $container; status=$?
		kill $writer
		exit $status`
	status, _, said := shell(t, script, t.TempDir())
	if status != 143 || said != "extsort: stopped by signal: terminated\n" {
		t.Errorf("exit %d: %s", status, said)
	}
}
