// Command mutants checks the tests: it breaks the code at random places, one at a time, and runs
// the short tests of the packages that could notice.
//
//	go run ./.ci/mutants [-seed N] [-n 20] [-missed 1] [-own] [PACKAGE ...]
//
// A place is broken by one of these mutations:
//
//	compare   < becomes <=, == becomes !=, and so on
//	add       + becomes -, and - becomes +
//	skip      the body of an if statement is never entered
//	enter     the body of an if statement is always entered
//	drop      a statement without a result is left out: a call, an assignment, x++
//	success   an error that a call returned is not noticed
//
// The same seed breaks the same places of the same sources. A mutation that does not compile is
// replaced by another one. The packages are mutated through an overlay, so that no source changes.
// Exit status 1 means that the tests missed more than -missed mutations.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// defaultPackages are those in which an error costs the most: wrong bytes, or lost ones.
var defaultPackages = []string{
	"merge", "merge/output", "chunker/spill", "chunker/input", "chunker/plan", "device/cpu/radix",
}

// A stage is one run of go test. Later stages run only if the earlier ones noticed nothing.
type stage []string

// stages returns the runs of go test for a mutation in a package: its own tests, those of its
// neighbors, then sorts.
func stages(folder string) []stage {
	list := []stage{
		{"./" + folder},
		{"./internal/session", "-run", "TestRows"},
		{"./internal/session", "-skip", "TestRows"},
		{"./internal/powerloss", "./internal/engine", "."},
		{"./cmd/extsort"},
	}
	if top, _, ok := strings.Cut(folder, "/"); ok {
		neighbors := stage{"./" + top + "/..."}
		list = append(list[:1], append([]stage{neighbors}, list[1:]...)...)
	}
	return list
}

// settings are the values of the flags.
type settings struct {
	seed         uint64
	first, count int
	own, list    bool
	packages     []string
}

func main() {
	var s settings
	flag.Uint64Var(&s.seed, "seed", rand.Uint64(), "repeat a run")
	flag.IntVar(&s.first, "first", 1, "number of the mutation to start with")
	flag.IntVar(&s.count, "n", 20, "number of mutations")
	flag.BoolVar(&s.own, "own", false, "run only the tests of the mutated package")
	flag.BoolVar(&s.list, "list", false, "print the mutations and stop")
	missed := flag.Int("missed", 1, "most mutations that the tests may miss")
	flag.Parse()
	s.packages = flag.Args()
	if len(s.packages) == 0 {
		s.packages = defaultPackages
	}
	survivors, err := s.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if survivors > *missed {
		os.Exit(1)
	}
}

// run tests mutations and returns how many of them the tests missed.
func (s settings) run() (int, error) {
	fmt.Printf("seed %d, packages %s\n", s.seed, strings.Join(s.packages, " "))
	var mutations []mutation
	for _, folder := range s.packages {
		found, err := findMutations(folder)
		if err != nil {
			return 0, err
		}
		mutations = append(mutations, found...)
	}
	r := rand.New(rand.NewPCG(s.seed, 0))
	r.Shuffle(len(mutations), func(i, j int) { mutations[i], mutations[j] = mutations[j], mutations[i] })

	scratch, err := os.MkdirTemp("", "extsort-mutants-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)

	number, survivors := 0, 0
	last := s.first - 1 + s.count
	for _, m := range mutations {
		if number == last {
			break
		}
		overlay, err := m.overlay(scratch)
		if err != nil {
			return survivors, err
		}
		if !compiles(overlay, m.folder) {
			continue
		}
		number++
		if number < s.first {
			continue
		}
		fmt.Printf("%d. %s\n", number, m)
		if s.list {
			continue
		}
		if !s.test(overlay, m.folder) {
			survivors++
		}
	}
	if !s.list {
		tested := number - (s.first - 1)
		fmt.Printf("%d of %d mutations were noticed\n", tested-survivors, tested)
	}
	return survivors, nil
}

// test prints which tests noticed a mutation. It reports whether any did.
func (s settings) test(overlay, folder string) bool {
	runs := stages(folder)
	if s.own {
		runs = runs[:1]
	}
	start := time.Now()
	for i, run := range runs {
		if noticed := run.fails(overlay, i == 0); noticed != "" {
			fmt.Printf("   noticed by %s: %s (%.0f s)\n", strings.Join(run, " "), noticed, time.Since(start).Seconds())
			return true
		}
	}
	fmt.Printf("   MISSED (%.0f s)\n", time.Since(start).Seconds())
	return false
}

// overlay writes the mutated file and an overlay that replaces the original by it, and returns
// the name of the overlay.
func (m mutation) overlay(scratch string) (string, error) {
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	mutated := filepath.Join(scratch, filepath.Base(m.file))
	if err := os.WriteFile(mutated, m.source, 0o600); err != nil {
		return "", err
	}
	replace := map[string]map[string]string{"Replace": {original: mutated}}
	text, err := json.Marshal(replace)
	if err != nil {
		return "", err
	}
	name := filepath.Join(scratch, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}

// compiles reports whether a mutated package and its tests compile.
func compiles(overlay, folder string) bool {
	return exec.Command("go", "test", "-c", "-o", os.DevNull, "-overlay", overlay, "./"+folder).Run() == nil
}

// addressSpace limits the memory of the package's own tests in bytes, because a mutation can make
// a loop endless. Whole sorts need more.
const addressSpace = "8000000000"

// fails runs the tests and returns the line that says what failed; "": nothing failed.
func (s stage) fails(overlay string, isOwn bool) string {
	timeout := "10m"
	if isOwn {
		timeout = "2m"
	}
	args := []string{"test", "-vet=off", "-short", "-failfast", "-timeout", timeout, "-overlay", overlay}
	if prlimit, err := exec.LookPath("prlimit"); err == nil && isOwn {
		args = append(args, "-exec", prlimit+" --as="+addressSpace)
	}
	text, err := exec.Command("go", append(args, s...)...).CombinedOutput()
	if err == nil {
		return ""
	}
	return firstFailure(string(text), err)
}

// firstFailure returns the line of a test's output that says what failed.
func firstFailure(text string, err error) string {
	for _, sign := range []string{"--- FAIL: ", "panic: ", "fatal error: ", "FAIL"} {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, sign) {
				return line
			}
		}
	}
	return err.Error()
}
