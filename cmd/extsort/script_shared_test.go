package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/extsort/extsort/internal/testfiles"
)

// Most lines of a script are about a command, not about its process. Starting a process takes longer
// than most of these commands, so the commands of a script share one process. A command gets a
// process of its own if it reads the standard input, runs in the background, is part of a shell
// script, or if its script sets variables.

// sharedLine matches the lines that run in the shared process.
var sharedLine = regexp.MustCompile(`^(! )?exec ((status \d+ )?extsort( .*)?)$`)

// shareProcesses copies scripts to a new directory and changes each line that can run in the shared
// process from "exec COMMAND" to "run COMMAND".
func shareProcesses(t *testing.T, pattern string) (directory string) {
	t.Helper()
	directory = t.TempDir()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts match %s: %v", pattern, err)
	}
	for _, name := range names {
		text := testfiles.Read(t, name)
		testfiles.Write(t, filepath.Join(directory, filepath.Base(name)), shareProcess(text))
	}
	return directory
}

func shareProcess(script []byte) []byte {
	lines := strings.Split(string(script), "\n")
	previous := ""
	for i, line := range lines {
		if strings.HasPrefix(line, "env ") {
			return script
		}
		hasInput := strings.HasPrefix(previous, "stdin ") || strings.HasPrefix(previous, "ttyin ")
		if sharedLine.MatchString(line) && !strings.HasSuffix(line, "&") && !hasInput {
			lines[i] = sharedLine.ReplaceAllString(line, "${1}run ${2}")
		}
		previous = line
	}
	return []byte(strings.Join(lines, "\n"))
}

// TestShareProcess checks which lines run in the shared process.
func TestShareProcess(t *testing.T) {
	for script, want := range map[string]string{
		"exec extsort -c in":            "run extsort -c in",
		"! exec extsort\ncmp a b":       "! run extsort\ncmp a b",
		"exec status 2 extsort":         "run status 2 extsort",
		"stdin in\nexec extsort\nexec":  "stdin in\nexec extsort\nexec",
		"ttyin -stdin in\nexec extsort": "ttyin -stdin in\nexec extsort",
		"exec status INT extsort":       "exec status INT extsort",
		"exec sh -c 'exec extsort'":     "exec sh -c 'exec extsort'",
		"exec extsort &":                "exec extsort &",
		"env A=1\nexec extsort -c data": "env A=1\nexec extsort -c data",
	} {
		if got := string(shareProcess([]byte(script))); got != want {
			t.Errorf("%q becomes %q, not %q", script, got, want)
		}
	}
}

// A sharedCommand is a request to the shared process.
type sharedCommand struct {
	Args      []string
	Directory string
	Variables map[string]string
}

// A sharedResult is the reply.
type sharedResult struct {
	Status         int
	Stdout, Stderr []byte
}

// Descriptors of the shared process. Its standard input is an empty pipe, because some commands get
// the standard input of the process as a default.
const (
	requestsDescriptor = 3
	repliesDescriptor  = 4
)

// sharedMain is the shared process: it runs the requested commands.
func sharedMain() {
	requests := json.NewDecoder(os.NewFile(requestsDescriptor, "requests"))
	replies := json.NewEncoder(os.NewFile(repliesDescriptor, "replies"))
	for {
		var command sharedCommand
		err := requests.Decode(&command)
		if errors.Is(err, io.EOF) {
			return
		}
		exitOn(err)
		result, err := command.run()
		exitOn(err)
		exitOn(replies.Encode(result))
	}
}

// run runs the command. Its standard streams are pipes, as those of a process that a script starts.
func (c *sharedCommand) run() (result sharedResult, err error) {
	if err := os.Chdir(c.Directory); err != nil {
		return result, err
	}
	for name, value := range c.Variables {
		os.Setenv(name, value)
	}
	stdin, feed, err := os.Pipe()
	if err != nil {
		return result, err
	}
	defer stdin.Close()
	feed.Close()
	var out, said collected
	if err := errors.Join(out.open(), said.open()); err != nil {
		return result, err
	}
	result.Status = run(context.Background(), c.Args, stdin, out.w, said.w)
	result.Stdout = out.all()
	result.Stderr = said.all()
	return result, nil
}

// collected collects what is written to a pipe.
type collected struct {
	w    *os.File
	data chan []byte
}

func (c *collected) open() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	c.w = w
	c.data = make(chan []byte, 1)
	go func() {
		defer r.Close()
		data, _ := io.ReadAll(r)
		c.data <- data
	}()
	return nil
}

func (c *collected) all() []byte {
	c.w.Close()
	return <-c.data
}

// sharedProcess is the shared process of a script. It starts with the first command.
type sharedProcess struct {
	names    []string // of the variables that a script has
	cmd      *exec.Cmd
	said     bytes.Buffer
	files    [2]*os.File // for requests and replies
	requests *json.Encoder
	replies  *json.Decoder
}

// sharedKey is the key of the shared process among the values of a script.
type sharedKey struct{}

// addSharedProcess gives a script its shared process.
func addSharedProcess(env *testscript.Env) {
	p := &sharedProcess{}
	for _, variable := range env.Vars {
		name, _, _ := strings.Cut(variable, "=")
		p.names = append(p.names, name)
	}
	env.Values[sharedKey{}] = p
	env.Defer(p.end)
}

func (p *sharedProcess) start() error {
	requested, requests, err := os.Pipe()
	if err != nil {
		return err
	}
	replies, replied, err := os.Pipe()
	if err != nil {
		return err
	}
	p.files = [2]*os.File{requests, replies}
	p.requests = json.NewEncoder(requests)
	p.replies = json.NewDecoder(replies)
	p.cmd = exec.Command("shared")
	p.cmd.Stdin = strings.NewReader("")
	p.cmd.Stderr = &p.said
	p.cmd.ExtraFiles = []*os.File{requested, replied}
	err = p.cmd.Start()
	requested.Close()
	replied.Close()
	return err
}

func (p *sharedProcess) end() {
	if p.cmd != nil {
		p.files[0].Close()
		_ = p.cmd.Wait()
		p.files[1].Close()
	}
}

// runShared is the command "run" of scripts.
func runShared(ts *testscript.TestScript, neg bool, args []string) {
	p := ts.Value(sharedKey{}).(*sharedProcess)
	if p.cmd == nil {
		ts.Check(p.start())
	}
	want := "0"
	if args[0] == "status" {
		want = args[1]
		args = args[2:]
	}
	command := sharedCommand{Args: args[1:], Directory: ts.MkAbs("."), Variables: map[string]string{}}
	for _, name := range p.names {
		command.Variables[name] = ts.Getenv(name)
	}
	command.Variables["PWD"] = command.Directory
	var result sharedResult
	ts.Check(p.requests.Encode(command))
	if err := p.replies.Decode(&result); err != nil {
		ts.Fatalf("the shared process ended with %v, and said: %s", err, p.said.String())
	}
	_, outErr := ts.Stdout().Write(result.Stdout)
	_, saidErr := ts.Stderr().Write(result.Stderr)
	ts.Check(errors.Join(outErr, saidErr))
	if got := strconv.Itoa(result.Status); (got == want) == neg {
		ts.Fatalf("%s ended with %s, not %s: %s", fmt.Sprint(args), got, want, result.Stderr)
	}
}
