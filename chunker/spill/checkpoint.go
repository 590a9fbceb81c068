package spill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/safely"
)

// A Checkpoint keeps finished runs in a directory, so that a sort that was killed can continue. It
// consists of the spill files, which keep their names, and a manifest. The manifest only lists data
// that is durable: each run is synced first and then added to the manifest. This happens in the
// background, one run at a time. If the sort finishes runs faster, it waits. A Checkpoint is the
// Store of its files.
type Checkpoint struct {
	folder   string
	mu       sync.Mutex // protects manifest
	manifest manifest
	// ends holds, for each spill file, the end of the data that was kept when the checkpoint was
	// opened.
	ends  []int64
	files []*os.File // the open spill files
	index *os.File   // the file of long indexes; nil if none exists

	handedOver bool // the caller has taken over the file of the output
	complete   bool // the output has its final name

	background safely.Group
	failed     atomic.Bool // a background operation failed
}

// OpenCheckpoint opens a checkpoint, or creates it and makes its directory durable. It locks the
// directory, and waits for other processes until ctx is cancelled. If readOnly is set, it only
// reads the finished work, if there is any.
func OpenCheckpoint(ctx context.Context, folder string, readOnly bool) (*Checkpoint, error) {
	c := &Checkpoint{folder: folder}
	c.background.SetLimit(1)
	var err error
	if !readOnly {
		if err = os.Mkdir(folder, 0o700); err == nil {
			err = SyncNames(filepath.Dir(folder))
		}
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = checkForeignFiles(folder)
	}
	if err == nil {
		err = c.manifest.open(ctx, folder, readOnly)
	}
	if readOnly && errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, atCheckpoint(folder, err)
	}
	c.ends = c.manifest.ends()
	return c, nil
}

func atCheckpoint(folder string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("checkpoint %s: %w", folder, device.WithoutPath(err))
}

// errUnusable returns an error for a checkpoint that cannot be used.
func errUnusable(reason string, args ...any) error {
	return fmt.Errorf(reason+" (remove the directory to start over, or name another)", args...)
}

// updateManifest updates the manifest and makes the change durable.
func (c *Checkpoint) updateManifest(change func(next *content)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.manifest.content
	change(&next)
	return c.manifest.replace(next)
}

// Appended reports whether results are appended to the records of the runs.
func (c *Checkpoint) Appended() bool { return c.manifest.Appended }

// SetAppended records whether results are appended to the records of the runs. REQUIRES: there are no
// runs yet
func (c *Checkpoint) SetAppended(appended bool) error {
	if c.manifest.Appended == appended || !c.manifest.writable() {
		return nil
	}
	err := c.updateManifest(func(next *content) { next.Appended = appended })
	return atCheckpoint(c.folder, err)
}

// State describes the finished work.
func (c *Checkpoint) State() *plan.Checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()

	s := &plan.Checkpoint{
		Folder:    c.folder,
		RawFolder: filename.Raw(c.folder),
		Runs:      len(c.manifest.Runs),
		Complete:  c.complete,
	}
	for _, run := range c.manifest.Runs {
		s.Records += run.Records
		s.StoredBytes += run.storedBytes()
	}

	s.Written = c.manifest.Written.Records()
	return s
}

// keepRun syncs a finished run and adds it to the manifest. It then releases the space of the runs
// that it was merged from. All this happens in the background.
func (c *Checkpoint) keepRun(run *Run, replaced []*Run, s *Spill) error {
	c.background.Go(func() error {
		kept := newKeptRun(run)
		err := kept.writeBlocks(c.folder)
		if err == nil {
			err = c.sync(run)
		}
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			err = c.manifest.addRun(kept)
		}

		if err != nil {
			c.failed.Store(true)
			return atCheckpoint(c.folder, err)
		}

		for _, run := range replaced {
			if err := s.release(run); err != nil {
				return err
			}
		}

		return nil
	})
	if c.failed.Load() {
		return c.Wait()
	}
	return nil
}

// sync makes the blocks and the index of a run durable, and the names of their files. The manifest
// may name a file only after that: a crash may keep the new manifest and lose older changes of
// names.
func (c *Checkpoint) sync(run *Run) error {
	var all safely.Group
	for i, end := range run.ends {
		if end > 0 {
			all.Go(c.files[i].Sync)
		}
	}

	c.mu.Lock()
	if c.index != nil {
		all.Go(c.index.Sync)
	}
	c.mu.Unlock()
	all.Go(func() error { return SyncNames(c.folder) })
	return all.Wait()
}

// Wait waits until all finished work is in the manifest.
func (c *Checkpoint) Wait() error { return c.background.Wait() }

// Folder returns the absolute path of the checkpoint.
func (c *Checkpoint) Folder() string {
	whole, _ := filepath.Abs(c.folder) // the path was resolved when the output was opened
	return whole
}

// Close unlocks the directory. It removes the checkpoint if it contains nothing worth keeping.
// REQUIRES: the spill files are closed
func (c *Checkpoint) Close() error {
	_ = c.Wait() // the sort already knows the error
	nothing := len(c.manifest.Runs) == 0 && (c.handedOver || c.manifest.Output == nil)
	if (c.complete || nothing) && c.manifest.writable() {
		return c.remove()
	}
	return c.manifest.close()
}
