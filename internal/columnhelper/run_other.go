//go:build !unix

package columnhelper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Run runs the program with the standard streams of this one. The console sends Ctrl-C
// to both.
func Run(args []string) error {
	path, err := Find()
	if err != nil {
		return err
	}
	command := exec.Command(path, args...)
	command.Stdin = os.Stdin
	command.Stdout = os.Stdout
	command.Stderr = os.Stderr
	err = command.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return &ExitError{Status: exit.ExitCode()}
	}
	if err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return nil
}
