package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"al.essio.dev/pkg/shellescape"
)

// patience limits the time of a run. If a run hangs, soak shows its stacks.
const patience = 10 * time.Minute

// outcome is the result of a run of the command.
type outcome struct {
	exit           int            // status; -1: killed by a signal
	signal         syscall.Signal // signal that killed it
	stdout, stderr []byte
	took           time.Duration
	hung           bool
}

func (o outcome) status() string {
	if o.exit < 0 {
		return o.signal.String()
	}
	return fmt.Sprint("exit ", o.exit)
}

// arguments returns the command line of a scenario.
func (s *scenario) arguments() []string {
	args := append([]string{"--progress", "never"}, s.layout.flags...)
	switch s.verb {
	case "merge":
		args = append(args, "-m")
	case "check":
		args = append(args, "-c")
	}
	args = append(args, s.flags...)
	for i := range s.spills {
		args = append(args, "-T", fmt.Sprint("spill", i))
	}
	if name := s.outputName(); name != "" && s.output.place != "redirect" &&
		s.output.place != "over" {
		args = append(args, "-o", name)
	}
	if s.dashed {
		args = append(args, "--")
	}
	for i, in := range s.inputs {
		switch {
		case in.stdin == "":
			args = append(args, dataFolder(s)+"/"+in.name(i))
		case in.isNamed || len(s.inputs) > 1:
			args = append(args, "-")
		}
	}
	return args
}

// outputName returns the name of the output file, or "" if the output is a pipe.
func (s *scenario) outputName() string {
	switch s.output.place {
	case "input":
		return dataFolder(s) + "/" + s.inputs[0].name(0)
	case "over":
		return dataFolder(s) + "/" + s.inputs[s.output.replaced].name(s.output.replaced)
	case "redirect":
		return "result/redirected"
	case "file":
		if s.output.byFlag {
			return "result/" + s.output.prefix + "out"
		}
		return "result/" + s.output.prefix + "out" + suffixes[s.output.kind]
	}
	return ""
}

// run runs the command in folder. If after is not 0, it sends the scenario's signal after that
// time.
func (s *scenario) run(
	ctx context.Context, command, folder string, after time.Duration,
) (outcome, error) {
	cmd := exec.Command(command, s.arguments()...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "TMPDIR="+folder+"/tmp", "GOTRACEBACK=all")
	var out, complaints bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &complaints
	files, err := s.connect(cmd, folder)
	defer closeAll(files)
	if err != nil {
		return outcome{}, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return outcome{}, err
	}
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	if after > 0 {
		defer time.AfterFunc(after, func() {
			cmd.Process.Signal(s.signal)
		}).Stop()
	}
	var hung bool
	defer time.AfterFunc(patience, func() {
		hung = true
		cmd.Process.Signal(syscall.SIGQUIT)
	}).Stop()
	defer time.AfterFunc(patience+time.Minute, func() {
		cmd.Process.Kill()
	}).Stop()
	err = cmd.Wait()
	o := outcome{
		exit: cmd.ProcessState.ExitCode(),
		took: time.Since(begin),
		hung: hung,
	}
	o.stdout, o.stderr = out.Bytes(), complaints.Bytes()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok &&
		status.Signaled() {
		o.signal = status.Signal()
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) &&
		ctx.Err() == nil {
		return o, err
	}
	return o, ctx.Err()
}

// connect opens standard input and output.
func (s *scenario) connect(
	cmd *exec.Cmd, folder string,
) (files []*os.File, err error) {
	for i, in := range s.inputs {
		if in.stdin == "" {
			continue
		}
		f, err := os.Open(folder + "/" + dataFolder(s) + "/" + in.name(i))
		if err != nil {
			return files, err
		}
		files = append(files, f)
		if cmd.Stdin = f; in.stdin == "pipe" {
			cmd.Stdin = &raggedReader{f, rand.New(rand.NewPCG(s.seed, 0))}
		}
	}
	if s.output.place == "redirect" || s.output.place == "over" {
		flag := os.O_RDWR | os.O_CREATE
		if s.output.place == "redirect" {
			flag |= os.O_TRUNC
		}
		f, err := os.OpenFile(folder+"/"+s.outputName(), flag, 0o600)
		if err != nil {
			return files, err
		}
		files = append(files, f)
		cmd.Stdout = f
	}
	return files, nil
}

// raggedReader returns a few bytes at a time, like a pipe. It is not a file, so exec makes a pipe
// of it.
type raggedReader struct {
	from io.Reader
	r    *rand.Rand
}

func (p *raggedReader) Read(b []byte) (int, error) {
	return p.from.Read(b[:1+p.r.IntN(len(b))])
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// commandLine returns a shell command that runs the scenario again in its directory.
func (s *scenario) commandLine(command string) string {
	words := []string{"TMPDIR=$PWD/tmp", command}
	for _, arg := range s.arguments() {
		words = append(words, shellescape.Quote(arg))
	}
	for i, in := range s.inputs {
		switch in.stdin {
		case "pipe":
			words = append(
				[]string{"cat ./" + shellescape.Quote(
					dataFolder(s)+"/"+in.name(i),
				) + " |"},
				words...,
			)
		case "file":
			words = append(
				words, "< "+shellescape.Quote(dataFolder(s)+"/"+in.name(i)),
			)
		}
	}
	switch s.output.place {
	case "pipe":
		words = append(words, "| cat > piped")
	case "redirect":
		words = append(words, "> "+shellescape.Quote(s.outputName()))
	case "over":
		words = append(words, "1<> "+shellescape.Quote(s.outputName()))
	}
	return strings.Join(words, " ") + "\n"
}
