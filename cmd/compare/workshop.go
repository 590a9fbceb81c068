package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// workshop is the folder in which everything happens, and where the programs are.
type workshop struct {
	settings
	dir          string
	tools        map[string]string // programs that are not found by their names
	peerVersions []string
	machine      machine
	settleLimit  int64     // bytes
	group        *cgroup   // that what is timed runs in; nil: none
	log          io.Writer // what is going on
}

// openWorkshop makes the folder and has extsort at hand.
func openWorkshop(ctx context.Context, s settings, log io.Writer) (*workshop, error) {
	dir, err := os.MkdirTemp(s.work, "extsort-compare-")
	if err != nil {
		return nil, err
	}
	shop := &workshop{settings: s, dir: dir, tools: map[string]string{}, machine: describeMachine(dir), log: log}
	shop.settleLimit = settleLimit(shop.machine)
	if err := shop.findExtsort(ctx); err != nil {
		shop.close()
		return nil, err
	}
	return shop, nil
}

func (shop *workshop) close() {
	if shop.keep {
		shop.say("the data is in %s", shop.dir)
		return
	}
	if err := os.RemoveAll(shop.dir); err != nil {
		shop.say("cannot remove the data: %v", err)
	}
}

func (shop *workshop) say(line string, args ...any) { fmt.Fprintf(shop.log, line+"\n", args...) }

// findExtsort finds the versions of extsort. The first of them makes and checks the data.
func (shop *workshop) findExtsort(ctx context.Context) error {
	for i := range shop.table.versions {
		v := &shop.table.versions[i]
		if v.path == "" {
			v.path = filepath.Join(shop.dir, "extsort.exe") // the suffix matters on Windows and harms nowhere
			if err := build(ctx, v.path); err != nil {
				return err
			}
		}
		if err := v.find(); err != nil {
			return err
		}
		shop.tools[v.tool()] = v.path
	}
	shop.tools["extsort"] = shop.table.versions[0].path
	return nil
}

// build makes the command of this module.
func build(ctx context.Context, target string) error {
	build := exec.CommandContext(ctx, "go", "build", "-o", target, "github.com/extsort/extsort/cmd/extsort")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build extsort: %w\n%sstart this in the module, or name a command by --extsort", err, out)
	}
	return nil
}

// compile makes a tool of the source of a C++ program.
func compile(ctx context.Context, shop *workshop, tool string, source []byte, flags ...string) error {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		return errors.New("no g++ is installed to compile it")
	}
	program, err := filepath.Abs(shop.path(tool)) // as scripts run elsewhere
	if err != nil {
		return err
	}
	if err := os.WriteFile(program+".cpp", source, 0o600); err != nil {
		return err
	}
	words := append([]string{"-O3", "-march=native", "-w", "-pthread", "-o", program, program + ".cpp"}, flags...)
	if _, err := exec.CommandContext(ctx, compiler, words...).CombinedOutput(); err != nil {
		return errors.New("it does not compile")
	}
	shop.tools[tool] = program
	return nil
}

// versions are those of extsort and the peers that were found.
func (shop *workshop) versions(ctx context.Context) []string {
	version, err := shop.firstLine(ctx, "extsort", "--version")
	if err != nil {
		version = "extsort: " + err.Error()
	}
	return append([]string{version}, shop.peerVersions...)
}

// prepare is a command that will run in the folder.
func (shop *workshop) prepare(ctx context.Context, c command) *exec.Cmd {
	name := c[0]
	if path, ok := shop.tools[name]; ok {
		name = path
	}
	cmd := exec.CommandContext(ctx, name, c[1:]...)
	cmd.Dir = shop.dir
	return cmd
}

// path is where a file of the folder stands.
func (shop *workshop) path(file string) string { return filepath.Join(shop.dir, file) }

// firstLine runs a command and returns the first line that it prints.
func (shop *workshop) firstLine(ctx context.Context, words ...string) (string, error) {
	out, err := shop.prepare(ctx, words).Output()
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}

// must runs a command that is not timed, with standard input and output if they are not nil.
func (shop *workshop) must(ctx context.Context, c command, stdin io.Reader, stdout io.Writer) error {
	cmd := shop.prepare(ctx, c)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &stderr
	if err := cmd.Run(); err != nil {
		return failure(ctx, c, err, stderr.Bytes())
	}
	return nil
}

// failure is the error of a command with what it said last, or why it was stopped.
func failure(ctx context.Context, c command, err error, said []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		err = errors.New(strings.TrimPrefix(last, c[0]+": "))
	}
	return fmt.Errorf("%s: %w", c[0], err)
}
