package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// fakeFault is the variable that names the fault of the test binary when it acts as the command.
const fakeFault = "SOAK_TEST_FAULT"

func TestMain(m *testing.M) {
	if fault, isCommand := os.LookupEnv(fakeFault); isCommand {
		fakeCommand(fault)
	}
	os.Exit(m.Run())
}

// killsItself has one moment of a signal, long after a fake command has killed itself.
var killsItself = []float64{1e6}

// small returns a scenario with many equal keys, whose records differ in their payloads.
func small() *scenario {
	l := layout{flags: []string{"-R", "2", "-k", "0:u8"}, oracle: oracle{2, []field{{kind: 'u', size: 1}}}}
	return &scenario{layout: l, verb: "sort", spills: 1,
		inputs: []input{{records: []byte("b1a1b2a2c1b3a3a4b4c2"), streams: 1}},
		output: output{place: "file", oldBytes: []byte("what stood there")}}
}

// fakeCommand sorts the scenario small, and then simulates a fault.
func fakeCommand(fault string) {
	const out, ran, temporary = "result/out", "ran", "result/.out.extsort-0123456789abcdef"
	in, err := os.ReadFile("data/in0")
	check(err)
	sorted := small().layout.sorted(in)
	switch fault {
	case "byte":
		sorted[7] ^= 1
	case "lost":
		sorted = sorted[:len(sorted)-2]
	case "unstable":
		swapRecords(sorted, 2, 0, 1)
	case "words":
		os.Stderr.WriteString("panic: out of order\n")
	case "spill":
		check(os.WriteFile("spill0/extsort-1", nil, 0o600))
	case "TMPDIR":
		check(os.WriteFile(os.Getenv("TMPDIR")+"/extsort-1", nil, 0o600))
	case "temporary":
		check(os.WriteFile("result/.out.extsort-1", nil, 0o600))
	case "input":
		check(os.WriteFile("data/in0", sorted, 0o600))
	case "status":
		os.Stderr.WriteString("extsort: no reason\n")
		os.Exit(2)
	case "silent":
		os.Exit(3)
	case "nothing":
		os.Exit(0)
	case "torn", "named", "removed":
		runs, _ := os.ReadFile(ran)
		check(os.WriteFile(ran, append(runs, 'x'), 0o600))
		if len(runs) == 1 {
			if fault == "torn" {
				check(os.WriteFile(out, sorted[:10], 0o600))
			} else {
				check(os.WriteFile(temporary, nil, 0o600))
			}
			killThisProcess()
		}
		if fault == "removed" {
			_ = os.Remove(temporary)
		}
	}
	check(os.WriteFile(out, sorted, 0o600))
	os.Exit(0)
}

// killThisProcess ends the process as if the trial had killed it at this moment.
func killThisProcess() {
	self, err := os.FindProcess(os.Getpid())
	check(err)
	check(self.Kill())
	select {} // wait for the kill
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// TestFaultsAreFound simulates each fault, which must be reported, and the directory must be
// kept.
func TestFaultsAreFound(t *testing.T) {
	for fault, want := range map[string]string{
		"byte":      "got 20 bytes, expected 20; the first difference is at byte 7",
		"lost":      "got 18 bytes, expected 20; the first difference is at byte 18",
		"unstable":  "the first difference is at byte 1",
		"words":     "exit 0, and says: panic",
		"spill":     "spill0/extsort-1 was left behind",
		"TMPDIR":    "tmp/extsort-1 was left behind",
		"temporary": "result/.out.extsort-1 was left behind",
		"input":     "input in0 has changed",
		"status":    "exit 2: extsort: no reason",
		"silent":    "exit 3 with 0 lines of errors",
		"nothing":   "16 bytes, expected 20",
		"torn":      "neither the old one nor the new one",
		"named":     "result/.out.extsort-0123456789abcdef was left behind",
	} {
		s := small()
		if fault == "torn" || fault == "named" {
			s.signal = syscall.SIGKILL
			s.moments = killsItself
		}
		line, err := tryFake(t, s, fault)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(line, "WRONG") {
			t.Errorf("%s: %v\nlogged: %s", fault, err, line)
		}
	}
}

// TestNoFault simulates correct runs, including a killed run whose temporary file the next run
// removes. Nothing must be reported or kept.
func TestNoFault(t *testing.T) {
	for _, way := range []string{"", "removed"} {
		s := small()
		if way != "" {
			s.signal = syscall.SIGKILL
			s.moments = killsItself
		}
		if line, err := tryFake(t, s, way); err != nil || !strings.HasSuffix(line, ": ok\n") {
			t.Errorf("%q: %v\nlogged: %s", way, err, line)
		}
	}
}

// tryFake runs a scenario with the fake command.
func tryFake(t *testing.T, s *scenario, fault string) (line string, err error) {
	t.Helper()
	t.Setenv(fakeFault, fault)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	var log bytes.Buffer
	_, err = runTrial(context.Background(), s, self, folder, &log)
	if _, kept := os.Stat(filepath.Join(folder, "seed-0", "command")); (kept == nil) != (err != nil) {
		t.Errorf("%s: kept: %v, wrong: %v", fault, kept, err)
	}
	return log.String(), err
}

// TestJudgeCheck checks the byte of the first record out of order.
func TestJudgeCheck(t *testing.T) {
	s := small()
	s.verb = "check"
	said := func(line string) outcome {
		return outcome{exit: 1, stderr: []byte("extsort: data/in0: record 2 " + line)}
	}
	for _, c := range []struct {
		o     outcome
		right bool
	}{
		{said("(byte 2) is out of order"), true}, {said("(byte 4) is out of order"), false},
		{said("is somewhere"), false}, {outcome{}, false}, {outcome{exit: 2}, false},
	} {
		if err := s.judgeCheck(c.o); (err == nil) != c.right {
			t.Errorf("exit %d, %s: %v", c.o.exit, c.o.stderr, err)
		}
	}
	s.inputs[0].records = s.layout.sorted(s.inputs[0].records)
	if s.judgeCheck(outcome{}) != nil || s.judgeCheck(outcome{exit: 1}) == nil {
		t.Error("what is in order is not told from what is not")
	}
}

// TestSeedDecides checks that a seed determines the scenario, and that seeds cover all choices.
func TestSeedDecides(t *testing.T) {
	m := machine{[]device{{"cpu", nil}, {"0", []string{"msd"}}}}
	seen := map[string]int{}
	for seed := range uint64(300) {
		a, b := newScenario(seed, m, 1<<16), newScenario(seed, m, 1<<16)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d: %v\n%v", seed, a, b)
		}
		if flag := refusedFlag(a); flag != "" {
			t.Fatalf("seed %d: %s refuses %s: %q", seed, a.verb, flag, a.arguments())
		}
		for _, word := range append(a.arguments(), a.verb, a.output.place, a.signal.String()) {
			seen[word]++
		}
	}
	words := strings.Fields(
		"-t -R gensort npy sosd -m -c -r -u --limit -S -T -o --parallel --strategy --spill-compress " +
			"--compress --verify -d --algorithm --batch-size - sort merge check file input pipe redirect",
	)
	for _, word := range append(words, syscall.SIGKILL.String(), syscall.SIGTERM.String()) {
		if seen[word] == 0 {
			t.Errorf("no scenario has %s", word)
		}
	}
}

// refusedFlag returns a flag of a scenario that its verb rejects, or "".
func refusedFlag(s *scenario) string {
	var refused []string
	switch s.verb {
	case "merge":
		refused = []string{"--strategy", "-d", "--algorithm"}
	case "check":
		refused = []string{"--strategy", "-d", "--algorithm", "-T", "--verify", "--spill-compress", "--batch-size"}
	}
	for _, flag := range refused {
		if slices.Contains(s.arguments(), flag) {
			return flag
		}
	}
	return ""
}

// TestStatus checks the exit status of the program.
func TestStatus(t *testing.T) {
	var log, complaints bytes.Buffer
	if status := run(context.Background(), []string{"-no-such-flag"}, &log, &complaints); status != 2 {
		t.Errorf("an unknown flag: %d", status)
	}
	args := []string{"-extsort", filepath.Join(t.TempDir(), "missing"), "-dir", t.TempDir()}
	if status := run(context.Background(), args, &log, &complaints); status != 2 {
		t.Errorf("no command: %d", status)
	}
}
