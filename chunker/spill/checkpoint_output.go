package spill

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// KeptOutput describes the file that the last merge writes to. It is in the directory of the
// output.
type KeptOutput struct {
	Name  RawName     `json:"name"`
	Inode uint64      `json:"inode,omitempty"` // 0 if the system has no inode numbers
	Mode  fs.FileMode `json:"mode"`
}

// findComplete checks whether an earlier process has given the output its name, and makes the
// name durable.
func (c *Checkpoint) findComplete(output string) error {
	name, missing := filepath.EvalSymlinks(output)
	info, err := os.Stat(name)
	if missing != nil || err != nil || Stamp(info) != c.manifest.Complete {
		return nil
	}
	err = SyncNames(filepath.Dir(name))
	c.complete = err == nil
	return err
}

// Stamp returns a description of a file that changes when its content is rewritten, but not when
// it is renamed.
func Stamp(info fs.FileInfo) string {
	return fmt.Sprintf(
		"%d bytes from %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano),
	)
}

// SetComplete records the file of the output after it is durable and before it gets its name.
func (c *Checkpoint) SetComplete(file *os.File) error {
	info, err := file.Stat()
	if err == nil {
		err = c.updateManifest(func(next *content) { next.Complete = Stamp(info) })
	}
	return atCheckpoint(c.folder, err)
}

// Finish records that the output has its name. Close then removes the checkpoint.
func (c *Checkpoint) Finish() { c.complete = true }

// Output returns the file that the last merge writes to, or nil if none exists yet. From now on
// the caller is responsible for it.
func (c *Checkpoint) Output() *KeptOutput {
	c.handedOver = true
	return c.manifest.Output
}

// SetOutput records the file of the output, which is still empty.
func (c *Checkpoint) SetOutput(output KeptOutput) error {
	err := c.updateManifest(func(next *content) {
		next.Output = &output
		next.Written = nil
	})
	return atCheckpoint(c.folder, err)
}

// Written returns the progress of the last merge, or nil if nothing has been written.
func (c *Checkpoint) Written() *Written {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.manifest.Written
}

// SetWritten calls sync and records the progress of the last merge, in the background. If another
// update is in progress, it waits for it if wait is set; otherwise it does nothing and returns
// false. It returns the error of an earlier update.
func (c *Checkpoint) SetWritten(w *Written, sync func() error, wait bool) (started bool, err error) {
	if c.failed.Load() {
		return false, c.Wait()
	}
	enter := func() error {
		err := sync()
		if err == nil {
			err = atCheckpoint(c.folder, c.updateManifest(func(next *content) { next.Written = w }))
		}
		if err != nil {
			c.failed.Store(true)
		}
		return err
	}
	if wait {
		c.background.Go(enter)
		return true, nil
	}
	return c.background.TryGo(enter), nil
}
