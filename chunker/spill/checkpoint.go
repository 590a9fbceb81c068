package spill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

// Checkpoint keeps finished runs in a folder, so that a sort that was killed can go on from them: the files of spill,
// which keep their names, and a manifest. What the manifest names is on the disk before that. Both happen beside the
// sort, one run at a time: a sort that finishes runs faster waits. A Checkpoint is the Store of its files.
type Checkpoint struct {
	folder string
	mu     sync.Mutex // protects kept
	kept   manifest
	ends   []int64    // of what is kept in the files of spill, when it was opened
	files  []*os.File // of spill
	index  *os.File   // of the indexes of runs; nil: none is in a file

	handedOver bool // the file of the output
	complete   bool // that file has its name

	background safely.Group
	failed     atomic.Bool // something in the background
}

// OpenCheckpoint makes a checkpoint, whose folder a crash may not take away, or goes on with it. Nobody else may work
// there meanwhile; to wait for another process ends with ctx. readOnly: it only reads what is finished, if anything is.
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
		err = checkOurs(folder)
	}
	if err == nil {
		err = c.kept.open(ctx, folder, readOnly)
	}
	if readOnly && errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, atCheckpoint(folder, err)
	}
	c.ends = c.kept.ends()
	return c, nil
}

func atCheckpoint(folder string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("checkpoint %s: %w", folder, device.WithoutPath(err))
}

// errAnew is the error of a checkpoint that is of no use.
func errAnew(reason string, args ...any) error {
	return fmt.Errorf(reason+" (remove the directory to start over, or name another)", args...)
}

// checkOurs refuses a folder with files of others, since the end of the sort removes it.
func checkOurs(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if !isOurs(e.Name()) || !e.Type().IsRegular() && e.Name() == manifestName {
			return fmt.Errorf("%q does not belong to a checkpoint: name an empty or a new directory",
				e.Name())
		}
	}
	return err
}

// isOurs reports whether a file with that name may be in the folder of a checkpoint. A network file system or FUSE
// gives a file that is removed while it is open another name, which may outlive a crash.
func isOurs(name string) bool {
	known := []string{manifestName, newManifest, lockName, removedLock}
	prefixes := []string{spillPrefix, runIndexPrefix, ".nfs", ".fuse_hidden"}
	hasPrefix := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return slices.Contains(known, name) || slices.ContainsFunc(prefixes, hasPrefix)
}

// Identify refuses to go on with what is of another sort. The last thing, which all inputs make, is not compared where
// the output is complete: it may be one of them by now.
func (c *Checkpoint) Identify(now Identity, output string) error {
	id := newKeptIdentity(now)
	was, err := c.kept.Identity, c.findComplete(output)
	if err == nil && c.complete {
		id = id[:len(id)-1]
	}
	for i := range min(len(was), len(id)) {
		if was[i] != id[i] && !(c.complete && strings.HasSuffix(now[i][1], " of "+c.kept.Complete)) {
			c.complete = false
			left := ""
			if c.kept.Output != nil {
				left = "; what it has written is " + string(c.kept.Output.Name)
			}
			return atCheckpoint(c.folder, errAnew("it is of another sort: %v was %s, and is %s now%s",
				option.Field(was[i][0]), was[i][1], id[i][1], left))
		}
	}
	if was == nil && err == nil && c.kept.writable() {
		err = c.enter(func(k *kept) { k.Identity = id })
	}
	return atCheckpoint(c.folder, err)
}

// enter changes the manifest, durably.
func (c *Checkpoint) enter(change func(k *kept)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.kept.kept
	change(&next)
	return c.kept.put(next)
}

// findComplete finds out whether a run before has given the output its name, and makes that durable.
func (c *Checkpoint) findComplete(output string) error {
	name, missing := filepath.EvalSymlinks(output)
	info, err := os.Stat(name)
	if missing != nil || err != nil || Stamp(info) != c.kept.Complete {
		return nil
	}
	err = SyncNames(filepath.Dir(name))
	c.complete = err == nil
	return err
}

// Stamp tells a file from what it was before; another name does not change it.
func Stamp(info fs.FileInfo) string {
	return fmt.Sprintf("%d bytes from %s", info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano))
}

// SetComplete enters the file of the output when it is durable, before it gets its name.
func (c *Checkpoint) SetComplete(file *os.File) error {
	info, err := file.Stat()
	if err == nil {
		err = c.enter(func(k *kept) { k.Complete = Stamp(info) })
	}
	return atCheckpoint(c.folder, err)
}

// Finish says that the output has its name: Close removes the checkpoint.
func (c *Checkpoint) Finish() { c.complete = true }

// State is what is finished.
func (c *Checkpoint) State() *plan.Checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &plan.Checkpoint{
		Folder: c.folder, RawFolder: filename.Raw(c.folder), Runs: len(c.kept.Runs), Complete: c.complete,
	}
	for _, run := range c.kept.Runs {
		s.Records += run.Records
		s.StoredBytes += run.storedBytes()
	}
	s.Written = c.kept.Written.Records()
	return s
}

// Free implements Store. What is kept has its room already.
func (c *Checkpoint) Free(folders []string) int64 {
	free := Disk{}.Free(folders)
	if free < 0 {
		return free
	}
	return free + c.State().StoredBytes
}

// Create opens the next file of spill, without what follows the finished runs in it.
func (c *Checkpoint) Create(string) (File, error) {
	n := len(c.files)
	file, err := os.OpenFile(filepath.Join(c.folder, spillPrefix+strconv.Itoa(n)), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	c.files = append(c.files, file)
	c.ends = append(c.ends, make([]int64, max(n+1-len(c.ends), 0))...)
	return keptFile{&diskFile{file: file}}, file.Truncate(c.ends[n])
}

// indexEnd returns where the last index of a finished run ends in the file that has them.
// REQUIRES: c.mu is held, or nothing runs yet.
func (c *Checkpoint) indexEnd() (end int64) {
	for _, run := range c.kept.Runs {
		if run.Long != nil {
			end = max(end, run.Long.End)
		}
	}
	return end
}

// createIndex opens the file of the indexes, without what follows those of the finished runs in it.
func (c *Checkpoint) createIndex(string) (File, error) {
	c.mu.Lock() // other runs may enter the manifest just now
	defer c.mu.Unlock()
	file, err := os.OpenFile(filepath.Join(c.folder, longIndexes), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if end := c.indexEnd(); end > 0 { // else the runs that are being finished may have entries there
		err = file.Truncate(end)
	}
	c.index = file
	return keptFile{&diskFile{file: file}}, err
}

// keptFile is a file of spill that keeps its name when it is closed.
type keptFile struct{ *diskFile }

func (f keptFile) Close() error { return f.file.Close() }

// keep enters a run when its blocks are durable, and then gives back the space of those that it was merged from.
func (c *Checkpoint) keep(run *Run, replaced []*Run, s *Spill) error {
	c.background.Go(func() error {
		err := c.sync(run)
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			err = c.kept.putRun(newKeptRun(run))
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

// sync makes the blocks and the index of a run durable, and the names of their files.
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

// SyncNames makes the names in a folder durable. For a folder that may be written but not read, it syncs the whole file
// system through a new file.
func SyncNames(name string) error {
	folder, err := os.Open(name)
	if errors.Is(err, fs.ErrPermission) {
		if file, unwritable := openUnlinked(name); unwritable == nil {
			return errors.Join(SyncFileSystem(file), file.Close())
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(SyncFolder(folder), folder.Close())
}

// Wait waits until everything that is finished is in the manifest.
func (c *Checkpoint) Wait() error { return c.background.Wait() }

// Folder is its whole path.
func (c *Checkpoint) Folder() string {
	whole, _ := filepath.Abs(c.folder) // the output's was found before
	return whole
}

// Output is the file that the last merge writes to; nil: there is none yet. From now on the caller sees to it.
func (c *Checkpoint) Output() *KeptOutput {
	c.handedOver = true
	return c.kept.Output
}

// SetOutput enters that file, of which nothing is written.
func (c *Checkpoint) SetOutput(output KeptOutput) error {
	return atCheckpoint(c.folder, c.enter(func(k *kept) { k.Output, k.Written = &output, nil }))
}

// Written is how far the last merge had come; nil: nothing is written.
func (c *Checkpoint) Written() *Written {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Written
}

// SetWritten enters how far it has come, when sync has made that durable. While something else is being entered it
// waits, or else reports false and does nothing.
func (c *Checkpoint) SetWritten(w *Written, sync func() error, wait bool) bool {
	enter := func() error {
		if err := sync(); err != nil {
			return err
		}
		return atCheckpoint(c.folder, c.enter(func(k *kept) { k.Written = w }))
	}
	if wait {
		c.background.Go(enter)
		return true
	}
	return c.background.TryGo(enter)
}

// Close lets others work in the folder, and removes it if nothing in it is worth to be kept. REQUIRES: its files of
// spill are closed.
func (c *Checkpoint) Close() error {
	_ = c.Wait() // the sort knows what went wrong
	nothing := len(c.kept.Runs) == 0 && (c.handedOver || c.kept.Output == nil)
	if (c.complete || nothing) && c.kept.writable() {
		return c.remove()
	}
	return c.kept.close()
}

// remove removes the checkpoint, the manifest after all else: until then it names a complete output, and no run that is
// gone. A sort that is killed meanwhile has nothing left to do the next time but this. No file is open when it is
// removed, and the lock is removed last.
func (c *Checkpoint) remove() error {
	err := c.kept.forgetRuns()
	entries, unread := os.ReadDir(c.folder)
	var all safely.Group // to free the space of a large file takes a while
	for _, e := range entries {
		if name := e.Name(); name != manifestName && name != lockName {
			all.Go(func() error { return removeIfThere(filepath.Join(c.folder, name)) })
		}
	}
	if err = errors.Join(err, unread, all.Wait(), SyncNames(c.folder)); err == nil {
		err = removeFile(filepath.Join(c.folder, manifestName))
	}
	if err != nil {
		return atCheckpoint(c.folder, errors.Join(err, c.kept.close()))
	}
	if err = c.kept.lock.remove(); err == nil {
		err = removeFile(c.folder)
	}
	if _, used := os.Lstat(filepath.Join(c.folder, lockName)); used == nil {
		err = nil // another process has begun to work there
	}
	return atCheckpoint(c.folder, err)
}

func removeIfThere(name string) error {
	err := removeFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
