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

// A workshop is the directory that contains all data, together with the programs to run.
type workshop struct {
	settings
	dir          string
	tools        map[string]string // paths of programs that must not be looked up in $PATH
	peerVersions []string
	machine      machine
	settleLimit  int64     // bytes
	timedCgroup  *cgroup   // cgroup for timed runs; nil: none
	log          io.Writer // progress messages
}

// openWorkshop creates the directory and finds or builds extsort.
func openWorkshop(
	ctx context.Context, s settings, log io.Writer,
) (*workshop, error) {
	dir, err := os.MkdirTemp(s.workFolder, "extsort-compare-")
	if err != nil {
		return nil, err
	}
	shop := &workshop{
		settings: s,
		dir:      dir,
		tools:    map[string]string{},
		machine:  describeMachine(dir),
		log:      log,
	}
	shop.settleLimit = settleLimit(shop.machine)
	if err := shop.findExtsort(ctx); err != nil {
		shop.close()
		return nil, err
	}
	return shop, nil
}

func (shop *workshop) close() {
	if shop.keepData {
		shop.logf("the data is in %s", shop.dir)
		return
	}
	if err := os.RemoveAll(shop.dir); err != nil {
		shop.logf("cannot remove the data: %v", err)
	}
}

func (shop *workshop) logf(line string, args ...any) {
	fmt.Fprintf(shop.log, line+"\n", args...)
}

// findExtsort finds the versions of extsort. The first one generates and checks the data.
func (shop *workshop) findExtsort(ctx context.Context) error {
	for i := range shop.table.versions {
		v := &shop.table.versions[i]
		if v.path == "" {
			// Windows needs the suffix, and other systems ignore it.
			v.path = filepath.Join(shop.dir, "extsort.exe")
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

// build builds the command of this module.
func build(ctx context.Context, target string) error {
	build := exec.CommandContext(
		ctx,
		"go",
		"build",
		"-o",
		target,
		"github.com/extsort/extsort/cmd/extsort",
	)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf(
			"build extsort: %w\n%srun this in the module, or name a command with --extsort",
			err,
			out,
		)
	}
	return nil
}

// compile compiles a tool from C++ source.
func compile(
	ctx context.Context,
	shop *workshop,
	tool string,
	source []byte,
	flags ...string,
) error {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		return errors.New("no g++ is installed to compile it")
	}
	program, err := filepath.Abs(shop.path(tool)) // scripts run in another directory
	if err != nil {
		return err
	}
	if err := os.WriteFile(program+".cpp", source, 0o600); err != nil {
		return err
	}
	words := append(
		[]string{"-O3", "-march=native", "-w", "-pthread", "-o", program, program + ".cpp"},
		flags...,
	)
	if _, err := exec.CommandContext(ctx, compiler, words...).CombinedOutput(); err != nil {
		return errors.New("it does not compile")
	}
	shop.tools[tool] = program
	return nil
}

// versions returns the versions of extsort and of the installed peers.
func (shop *workshop) versions(ctx context.Context) []string {
	version, err := shop.firstLine(ctx, "extsort", "--version")
	if err != nil {
		version = "extsort: " + err.Error()
	}
	return append([]string{version}, shop.peerVersions...)
}

// prepare returns a command that runs in the directory.
func (shop *workshop) prepare(ctx context.Context, c command) *exec.Cmd {
	name := c[0]
	path, ok := shop.tools[name]
	if ok {
		name = path
	}
	cmd := exec.CommandContext(ctx, name, c[1:]...)
	cmd.Dir = shop.dir
	return cmd
}

// path returns the path of a file in the directory.
func (shop *workshop) path(file string) string {
	return filepath.Join(shop.dir, file)
}

// firstLine runs a command and returns the first line of its output.
func (shop *workshop) firstLine(
	ctx context.Context, words ...string,
) (string, error) {
	out, err := shop.prepare(ctx, words).Output()
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}

// runUntimed runs a command that is not part of a measurement. Standard input and output may be
// nil.
func (shop *workshop) runUntimed(
	ctx context.Context, c command, stdin io.Reader, stdout io.Writer,
) error {
	cmd := shop.prepare(ctx, c)
	var stderr bytes.Buffer
	cmd.Stdin = stdin
	cmd.Stdout = stdout
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return failure(ctx, c, err, stderr.Bytes())
	}
	return nil
}

// failure returns the error of a command with the end of its standard error, or the reason why it
// was stopped.
func failure(ctx context.Context, c command, err error, said []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	last := lines[len(lines)-1]
	if last != "" {
		err = errors.New(strings.TrimPrefix(last, c[0]+": "))
	}
	return fmt.Errorf("%s: %w", c[0], err)
}
