// Package filelock locks open files and directories, so that processes can take turns.
//
// A lock is on an open file: two descriptors that were opened separately exclude each other, also
// in one process. The system releases the lock when the file is closed, at the latest when the
// process ends.
package filelock

import (
	"context"
	"errors"
	"os"
	"time"
)

// A Kind determines who else can hold the lock at the same time.
type Kind bool

const (
	Exclusive Kind = false // no others
	Shared    Kind = true  // others that also asked for Shared
)

// ErrBusy is the error of Lock if other processes hold the lock until the patience ends.
var ErrBusy = errors.New("another process has the lock")

// poll is the interval between attempts of Lock. It does not use the system call that waits for a
// lock, because such a call cannot be cancelled.
const poll = 5 * time.Millisecond

// Lock locks a file. It waits for the lock at most as long as patience, and until ctx ends.
func Lock(ctx context.Context, file *os.File, kind Kind, patience time.Duration) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(poll)
	defer again.Stop()

	for {
		locked, err := Try(file, kind)
		if locked || err != nil {
			return err
		}
		select {
		case <-again.C:
		case <-deadline.C:
			return ErrBusy
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
