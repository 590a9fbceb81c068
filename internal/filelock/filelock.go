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

// Kind says who else may have the lock at the same time.
type Kind bool

const (
	Exclusive Kind = false // no other lock is possible at the same time
	Shared    Kind = true  // others that ask for Shared
)

// ErrBusy is the error of Lock if another process has the lock all the time.
var ErrBusy = errors.New("another process has the lock")

// poll is how often Lock asks for the lock. A system call that waits for it could not be cancelled.
const poll = 5 * time.Millisecond

// Lock takes the lock of a file. It waits for it until the patience ends, or ctx.
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
