//go:build unix

package columnhelper

import (
	"fmt"
	"os"
	"syscall"
)

// Run replaces this process by the program, which so receives all signals and determines the exit
// status. It returns only if that fails.
func Run(args []string) error {
	path, err := Find()
	if err != nil {
		return err
	}
	err = syscall.Exec(path, append([]string{Name}, args...), os.Environ())
	return fmt.Errorf("start %s: %w", path, err)
}
