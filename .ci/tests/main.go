// Command tests runs "go test" and shows how far it is. It prints a line for each package, the output of tests that
// fail, and at least one line every 30 seconds. It adds the numbers of tests to the file that COUNTS names; with -total,
// it prints the sums of that file.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// countsFile is the environment variable with the name of the file of counts.
const countsFile = "COUNTS"

// silence is the longest time without a line.
const silence = 25 * time.Second

// counts are the numbers of one run of go test.
type counts struct{ Packages, Tests, Subtests, Skipped, Failed int }

// event is what go test -json prints; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "-total" {
		total()
		return
	}
	r := &run{running: map[string]time.Time{}, output: map[string]*strings.Builder{}, last: time.Now()}
	if err := r.test(os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// run is one run of go test.
type run struct {
	counts

	mu      sync.Mutex
	last    time.Time                   // when a line was printed
	running map[string]time.Time        // tests, by package and name
	output  map[string]*strings.Builder // of tests and packages that have not ended
}

func (r *run) test(args []string) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ticker := time.NewTicker(silence / 5)
	defer ticker.Stop()
	go func() {
		for range ticker.C {
			r.beat()
		}
	}()
	readErr := r.read(out)
	return errors.Join(readErr, cmd.Wait(), r.save())
}

// read follows the events.
func (r *run) read(out io.Reader) error {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			r.print(lines.Text())
			continue
		}
		r.follow(e)
	}
	return lines.Err()
}

func (r *run) follow(e event) {
	name := e.Package + " " + e.Test
	switch e.Action {
	case "run", "cont":
		r.mu.Lock()
		r.running[name] = time.Now()
		r.mu.Unlock()
	case "pause":
		r.mu.Lock()
		delete(r.running, name)
		r.mu.Unlock()
	case "build-output":
		r.print(strings.TrimSuffix(e.Output, "\n"))
	case "output":
		if r.output[name] == nil {
			r.output[name] = &strings.Builder{}
		}
		r.output[name].WriteString(e.Output)
	case "pass", "fail", "skip":
		r.mu.Lock()
		delete(r.running, name)
		r.mu.Unlock()
		r.count(e)
		text := r.output[name]
		delete(r.output, name)
		switch {
		case e.Action == "fail" && text != nil:
			r.printUnfinished(e)
			r.print(strings.TrimSuffix(text.String(), "\n"))
		case e.Test == "" && e.Action == "pass":
			r.print(fmt.Sprintf("ok  %s  %.1f s", e.Package, e.Elapsed))
		}
	}
}

// printUnfinished prints the output of the tests of a failed package that have no end: the package crashed or took too
// long.
func (r *run) printUnfinished(e event) {
	if e.Test != "" {
		return
	}
	for name, text := range r.output {
		if strings.HasPrefix(name, e.Package+" ") {
			r.print(strings.TrimSuffix(text.String(), "\n"))
			delete(r.output, name)
		}
	}
}

// count counts a test, a subtest or a package that has ended.
func (r *run) count(e event) {
	switch {
	case e.Action == "fail":
		r.Failed++
	case e.Test == "" && e.Action == "pass":
		r.Packages++
	case e.Test != "" && e.Action == "skip":
		r.Skipped++
	case strings.Contains(e.Test, "/"):
		r.Subtests++
	case e.Test != "":
		r.Tests++
	}
}

func (r *run) print(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Println(line)
	r.last = time.Now()
}

// beat prints the test that has been running the longest if no line was printed for a while.
func (r *run) beat() {
	r.mu.Lock()
	oldest := ""
	for name, start := range r.running {
		if oldest == "" || start.Before(r.running[oldest]) {
			oldest = name
		}
	}
	quiet := time.Since(r.last) > silence-silence/5
	since := time.Since(r.running[oldest])
	r.mu.Unlock()
	switch {
	case !quiet:
	case oldest == "":
		r.print("… compiling")
	default:
		r.print(fmt.Sprintf("… %s for %.0f s", oldest, since.Seconds()))
	}
}

// save appends the counts to the file of counts, if there is one.
func (r *run) save() error {
	name := os.Getenv(countsFile)
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(file).Encode(r.counts), file.Close())
}

// total prints the sums of the file of counts.
func total() {
	text, err := os.ReadFile(os.Getenv(countsFile))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var sum counts
	lines := json.NewDecoder(strings.NewReader(string(text)))
	for {
		var c counts
		if lines.Decode(&c) != nil {
			break
		}
		sum.Packages += c.Packages
		sum.Tests += c.Tests
		sum.Subtests += c.Subtests
		sum.Skipped += c.Skipped
		sum.Failed += c.Failed
	}
	fmt.Printf("%d packages, %d tests and %d subtests passed, %d skipped, %d failed\n",
		sum.Packages, sum.Tests, sum.Subtests, sum.Skipped, sum.Failed)
}
