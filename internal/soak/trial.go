package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A trial runs a scenario in a directory of its own:
//
//	data/    the inputs
//	result/  the output, unless that is an input or a pipe
//	spill0/  … the folders of -T
//	tmp/     TMPDIR
type trial struct {
	*scenario
	command, folder string
	files           [][]byte // content of the input files
	want            []byte   // expected output
	tally           tally
	refusal         string // error of the command, if it refused the run
	killed          bool   // the last run was killed
	leftNamedFile   bool   // a killed run left a file that the next run removes
}

// A tally counts runs and bytes.
type tally struct {
	runs, refused, killed, terminated int
	bytes                             int64 // total size of inputs
}

func (t *tally) add(other tally) {
	t.runs += other.runs
	t.refused += other.refused
	t.killed += other.killed
	t.terminated += other.terminated
	t.bytes += other.bytes
}

// newTrial creates the directory.
func newTrial(s *scenario, command, folder string) (*trial, error) {
	t := &trial{
		scenario: s,
		command:  command,
		folder:   folder,
	}
	for _, in := range s.inputs {
		t.files = append(t.files, compress(in.kind, fileOf(s, in), in.streams))
	}
	if s.verb != "check" {
		t.want = s.expected()
	}
	for _, name := range append(t.emptyFolders(), dataFolder(s), "result") {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o700); err != nil {
			return nil, err
		}
	}
	text := []byte(s.commandLine(command))
	return t, errors.Join(
		t.reset(), os.WriteFile(filepath.Join(folder, "command"), text, 0o600),
	)
}

// emptyFolders returns the directories that must be empty after each run.
func (t *trial) emptyFolders() []string {
	names := []string{"tmp"}
	for i := range t.spills {
		names = append(names, fmt.Sprint("spill", i))
	}
	return names
}

// reset restores the inputs and the output to their state before the first run.
func (t *trial) reset() error {
	var faults []error
	for i, in := range t.inputs {
		faults = append(
			faults,
			os.WriteFile(
				filepath.Join(t.folder, dataFolder(t.scenario), in.name(i)),
				t.files[i],
				0o600,
			),
		)
	}
	if t.output.place != "file" {
		return errors.Join(faults...)
	}
	name := filepath.Join(t.folder, t.outputName())
	if t.output.oldBytes != nil {
		return errors.Join(
			append(faults, os.WriteFile(name, t.output.oldBytes, 0o600))...,
		)
	}
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// execute runs the command undisturbed, and then once for each signal: from the beginning, or
// from the checkpoint. It returns an error if something is wrong.
func (t *trial) execute(ctx context.Context) error {
	o, err := t.runOnce(ctx, 0)
	if err != nil {
		return err
	}
	if err := t.checkUndisturbed(o); err != nil || o.exit != 0 {
		return err
	}
	took := o.took
	for i, moment := range t.moments {
		if i == 0 || !t.checkpointed {
			if err := t.reset(); err != nil {
				return err
			}
		}
		after := time.Duration(moment * float64(took))
		stopped, err := t.runOnce(ctx, max(after, time.Microsecond))
		if err == nil {
			err = t.checkStopped(stopped)
		}
		if err != nil {
			return fmt.Errorf(
				"%v after %v of %v: %w", t.signal, after, took, err,
			)
		}
	}
	if !t.checkpointed && !t.leftNamedFile {
		return nil
	}
	if !t.checkpointed {
		if err := t.reset(); err != nil {
			return err
		}
	}
	if o, err = t.runOnce(ctx, 0); err != nil {
		return err
	}
	return t.checkUndisturbed(o)
}

// runOnce runs the command and makes the checks that apply to all runs.
func (t *trial) runOnce(
	ctx context.Context, after time.Duration,
) (outcome, error) {
	o, err := t.run(ctx, t.command, t.folder, after)
	if err != nil {
		return o, err
	}
	t.tally.runs++
	if t.killed = o.signal == syscall.SIGKILL; t.killed {
		removeDriverFiles(filepath.Join(t.folder, "tmp"))
	}
	for _, data := range t.files {
		t.tally.bytes += int64(len(data))
	}
	if err := os.WriteFile(filepath.Join(t.folder, "stderr"), o.stderr, 0o600); err != nil {
		return o, err
	}
	if o.hung {
		return o, errors.New("the command hung: its stacks are in stderr")
	}
	if _, err := os.Stat(filepath.Join(t.folder, checkpointName)); err == nil {
		if o.exit >= 0 {
			return o, fmt.Errorf(
				"the checkpoint was left behind: %s: %s", o.status(), o.stderr,
			)
		}
		return o, t.checkStderr(o) // an incomplete output may exist
	}
	return o, cmp.Or(t.checkStderr(o), t.checkFolders())
}

// checkUndisturbed checks a run without a signal.
func (t *trial) checkUndisturbed(o outcome) error {
	switch _, disordered := t.isDisordered(); {
	case t.verb == "merge" && t.output.place == "over":
		if !t.isRefusal(o) {
			return fmt.Errorf(
				"a merge over an input ended with %s: %s", o.status(), o.stderr,
			)
		}
		return t.checkOldOutput()
	case t.verb == "check" && !t.isRefusal(o):
		return t.judgeCheck(o)
	case t.verb == "merge" && disordered && !t.isRefusal(o):
		if o.exit != 2 || !bytes.Contains(o.stderr, []byte("out of order")) {
			return fmt.Errorf(
				"a merge of an unsorted input ended with %s: %s",
				o.status(),
				o.stderr,
			)
		}
		return t.checkOldOutput()
	case o.exit == 0:
		return t.checkNewOutput(o)
	case t.isRefusal(o):
		t.tally.refused++
		t.refusal = firstLine(o.stderr)
		return t.checkOldOutput()
	}
	return fmt.Errorf("%s: %s", o.status(), o.stderr)
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// checkStopped checks a run that received a signal.
func (t *trial) checkStopped(o outcome) error {
	switch {
	case o.exit == 0: // the signal came too late
		return t.checkNewOutput(o)
	case o.signal != t.signal:
		return fmt.Errorf("%s: %s", o.status(), o.stderr)
	case t.signal == syscall.SIGKILL:
		t.tally.killed++
	default:
		t.tally.terminated++
	}
	if t.output.place == "over" &&
		(t.signal == syscall.SIGKILL || bytes.Contains(
			o.stderr, []byte("is now incomplete"),
		)) {
		return nil // a run that ends while it writes to a stream leaves an incomplete output
	}
	if t.output.place == "pipe" {
		isRaw := t.layout.container == nil &&
			(t.output.kind == "" || t.output.kind == "none")
		if isRaw && !bytes.HasPrefix(t.want, o.stdout) {
			return fmt.Errorf(
				"the output in the pipe is wrong: %w",
				difference(o.stdout, t.want),
			)
		}
		return nil
	}
	if t.checkOldOutput() == nil {
		return nil
	}
	if err := t.checkNewOutput(o); err != nil {
		return fmt.Errorf(
			"the output is neither the old one nor the new one: %w", err,
		)
	}
	return nil
}

// checkStderr checks that standard error contains only lines of extsort, and an error only if the
// run failed. A driver that is killed by a signal may print anything except the beginning of a Go
// stack trace.
func (t *trial) checkStderr(o outcome) error {
	if o.exit < 0 && !stacks.Match(o.stderr) {
		return nil
	}
	errorsSaid := 0
	for line := range strings.Lines(string(o.stderr)) {
		if !strings.HasPrefix(line, "extsort: ") {
			return fmt.Errorf("%s, and says: %s", o.status(), o.stderr)
		}
		if !strings.HasPrefix(line, "extsort: warning: ") {
			errorsSaid++
		}
	}
	failed := o.exit > 0
	if errorsSaid > 1 || failed != (errorsSaid == 1) {
		return fmt.Errorf(
			"%s with %d lines of errors: %s", o.status(), errorsSaid, o.stderr,
		)
	}
	return nil
}

var stacks = regexp.MustCompile(
	`(?m)^(panic|fatal error|runtime|goroutine \d+)[: ]`,
)

// checkFolders checks that no files are left over and that the inputs are unchanged.
func (t *trial) checkFolders() error {
	for _, name := range t.emptyFolders() {
		if err := t.checkOnlyFiles(name); err != nil {
			return err
		}
	}
	var inputs []string
	for i, in := range t.inputs {
		inputs = append(inputs, in.name(i))
		if i == 0 && t.output.place == "input" ||
			i == t.output.replaced && t.output.place == "over" {
			continue
		}
		got, err := os.ReadFile(
			filepath.Join(t.folder, dataFolder(t.scenario), in.name(i)),
		)
		if err != nil || !bytes.Equal(got, t.files[i]) {
			return fmt.Errorf(
				"input %s has changed: %w",
				in.name(i),
				cmp.Or(err, difference(got, t.files[i])),
			)
		}
	}
	return cmp.Or(
		t.checkOnlyFiles(dataFolder(t.scenario), inputs...),
		t.checkOnlyFiles("result", resultNames(t.scenario)...),
	)
}

// checkOnlyFiles returns an error if a directory contains files other than those named.
func (t *trial) checkOnlyFiles(folder string, names ...string) error {
	entries, err := os.ReadDir(filepath.Join(t.folder, folder))
	for _, entry := range entries {
		switch {
		case slices.Contains(names, entry.Name()):
		case t.killed && (t.output.oldBytes != nil || t.output.place == "input") &&
			temporaryName.MatchString(entry.Name()):
			t.leftNamedFile = true
		default:
			return fmt.Errorf("%s/%s was left behind", folder, entry.Name())
		}
	}
	return err
}

// temporaryName matches the temporary name that a file has before it replaces another one.
var temporaryName = regexp.MustCompile(`(?s)^\..+\.extsort-[0-9a-f]{16}$`)

// removeDriverFiles removes files that the compiler of NVIDIA's driver leaves in TMPDIR when it is
// killed.
func removeDriverFiles(folder string) {
	names, _ := filepath.Glob(filepath.Join(folder, "dep-*.d"))
	for _, name := range names {
		_ = os.Remove(name)
	}
}

// checkOldOutput returns an error unless the output is unchanged.
func (t *trial) checkOldOutput() error {
	old := t.output.oldBytes
	switch t.output.place {
	case "pipe", "redirect":
		return nil
	case "input":
		// old must not be nil: the file exists even if it is empty.
		old = append([]byte{}, t.files[0]...)
	case "over":
		old = append([]byte{}, t.files[t.output.replaced]...)
	}
	if t.output.split > 0 {
		return checkNoSet(t)
	}
	got, err := os.ReadFile(filepath.Join(t.folder, t.outputName()))
	if errors.Is(err, fs.ErrNotExist) && old == nil {
		return nil
	}
	if err == nil && (old == nil || !bytes.Equal(got, old)) {
		err = fmt.Errorf("the old output has changed: %w", difference(got, old))
	}
	return err
}

// checkNewOutput returns an error unless the output is the expected one.
func (t *trial) checkNewOutput(o outcome) error {
	got := o.stdout
	if name := t.outputName(); name != "" {
		read := func() ([]byte, error) {
			return os.ReadFile(filepath.Join(t.folder, name))
		}
		if t.output.split > 0 {
			read = func() ([]byte, error) { return readSet(t) }
		}
		var err error
		if got, err = read(); err != nil {
			return err
		}
		if len(o.stdout) > 0 {
			return fmt.Errorf("%d bytes on standard output", len(o.stdout))
		}
	}
	got, err := decompress(t.output.kind, got)
	if err != nil {
		return fmt.Errorf("the output cannot be decompressed: %w", err)
	}
	return difference(got, t.want)
}

// difference returns an error that contains the first position where two outputs differ, or nil
// if they are equal.
func difference(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	n := min(len(got), len(want))
	at := 0
	for at < n && got[at] == want[at] {
		at++
	}
	return fmt.Errorf(
		"got %d bytes, expected %d; the first difference is at byte %d",
		len(got),
		len(want),
		at,
	)
}
