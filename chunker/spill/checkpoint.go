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
		err = checkOurs(folder)
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

// errAnew returns an error for a checkpoint that cannot be used.
func errAnew(reason string, args ...any) error {
	return fmt.Errorf(reason+" (remove the directory to start over, or name another)", args...)
}

// checkOurs returns an error if the directory contains foreign files, because the end of the sort
// removes the directory. Without a manifest there are no spill files: the manifest is written
// before the first one and removed after the last one.
func checkOurs(folder string) error {
	// Another process may be creating or removing the manifest.
	before := isThere(filepath.Join(folder, manifestName))
	entries, err := os.ReadDir(folder)
	hasManifest := before || isThere(filepath.Join(folder, manifestName))

	for _, e := range entries {
		if isTransient(e) || hasManifest && isListed(e) {
			continue
		}
		return fmt.Errorf("%q does not belong to a checkpoint: name an empty or new directory", e.Name())
	}
	return err
}

func isThere(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// isTransient reports whether an entry may be in the directory of a checkpoint that has no manifest
// yet. If an open file is removed, a network file system or FUSE renames it, and the new name may
// survive a crash.
func isTransient(e fs.DirEntry) bool {
	name := e.Name()
	return e.Type().IsRegular() && (slices.Contains([]string{newManifest, lockName, removedLock}, name) ||
		strings.HasPrefix(name, ".nfs") || strings.HasPrefix(name, ".fuse_hidden"))
}

// isListed reports whether an entry has the name of a manifest or of a file that one lists.
func isListed(e fs.DirEntry) bool {
	name := e.Name()
	if !e.Type().IsRegular() {
		return false
	}
	if number, ok := strings.CutPrefix(name, spillPrefix); ok {
		return isNumber(number) || name == longIndexes
	}
	if rest, ok := strings.CutPrefix(name, runIndexPrefix); ok {
		first, sum, _ := strings.Cut(rest, "-")
		return isNumber(first) && len(sum) == len(checksum(nil)) && strings.Trim(sum, "0123456789abcdef") == ""
	}
	return name == manifestName
}

// isNumber reports whether a text is a number as strconv writes it.
func isNumber(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}

// Identify returns an error if the checkpoint belongs to another sort. If the output is complete,
// it does not compare the last item, which describes all inputs, because the output may have
// replaced one of them.
func (c *Checkpoint) Identify(now Identity, output string) error {
	id := newKeptIdentity(now)
	was := c.manifest.Identity
	err := c.findComplete(output)
	if err == nil && c.complete {
		id = id[:len(id)-1]
	}
	for i := range min(len(was), len(id)) {
		if was[i] != id[i] &&
			!(c.complete && strings.HasSuffix(now[i][1], " of "+c.manifest.Complete)) {
			c.complete = false
			left := ""
			if c.manifest.Output != nil {
				left = "; its unfinished output is " + string(c.manifest.Output.Name)
			}
			return atCheckpoint(
				c.folder,
				errAnew("it belongs to another sort: %v was %s and is now %s%s",
					option.Field(was[i][0]), was[i][1], id[i][1], left),
			)
		}
	}

	if was == nil && err == nil && c.manifest.writable() {
		err = c.updateManifest(func(next *content) { next.Identity = id })
	}
	return atCheckpoint(c.folder, err)
}

// updateManifest updates the manifest and makes the change durable.
func (c *Checkpoint) updateManifest(change func(next *content)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.manifest.content
	change(&next)
	return c.manifest.replace(next)
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

// Free implements Store. It includes the space of kept runs, which need no further space.
func (c *Checkpoint) Free(folders []string) int64 {
	free := Disk{}.Free(folders)
	if free < 0 {
		return free
	}
	return free + c.State().StoredBytes
}

// Create opens the next spill file and truncates it after the data of the finished runs.
func (c *Checkpoint) Create(string) (File, error) {
	n := len(c.files)
	file, err := os.OpenFile(
		filepath.Join(c.folder, spillPrefix+strconv.Itoa(n)), os.O_RDWR|os.O_CREATE, 0o600,
	)
	if err != nil {
		return nil, err
	}
	c.files = append(c.files, file)
	c.ends = append(c.ends, make([]int64, max(n+1-len(c.ends), 0))...)
	return keptFile{&diskFile{file: file}}, file.Truncate(c.ends[n])
}

// indexEnd returns the end of the last index of a finished run in the file of long indexes.
// REQUIRES: c.mu is held, or no other goroutine uses c yet
func (c *Checkpoint) indexEnd() (end int64) {
	for _, run := range c.manifest.Runs {
		if run.Long != nil {
			end = max(end, run.Long.End)
		}
	}
	return end
}

// createIndex opens the file of long indexes and truncates it after the indexes of the finished
// runs.
func (c *Checkpoint) createIndex(string) (File, error) {
	c.mu.Lock() // another run may be updating the manifest
	defer c.mu.Unlock()

	file, err := os.OpenFile(filepath.Join(c.folder, longIndexes), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// otherwise the file may contain entries of unfinished runs of this process
	if end := c.indexEnd(); end > 0 {
		err = file.Truncate(end)
	}
	c.index = file
	return keptFile{&diskFile{file: file}}, err
}

// keptFile is a spill file that keeps its name when it is closed.
type keptFile struct{ *diskFile }

func (f keptFile) Close() error { return f.file.Close() }

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

// SyncNames makes the names in a directory durable. If the directory is writable but not
// readable, it syncs the whole file system through a new file.
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

// Wait waits until all finished work is in the manifest.
func (c *Checkpoint) Wait() error { return c.background.Wait() }

// Folder returns the absolute path of the checkpoint.
func (c *Checkpoint) Folder() string {
	whole, _ := filepath.Abs(c.folder) // the path was resolved when the output was opened
	return whole
}

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

// remove removes the checkpoint. It first removes all runs from the manifest, then all other
// files, and then the manifest, which until then describes the complete output. If this process
// is killed in the meantime, the next process finds a complete output and removes the rest. The
// lock is removed last. All files are closed before they are removed. Files that do not belong to
// the checkpoint stay, and so does the directory.
func (c *Checkpoint) remove() error {
	err := c.manifest.forgetRuns()
	if err != nil {
		// The manifest still lists the spill files.
		return atCheckpoint(c.folder, errors.Join(err, c.manifest.close()))
	}
	foreign, err := c.removeFiles()
	if err = errors.Join(err, SyncNames(c.folder)); err == nil {
		err = removeFile(filepath.Join(c.folder, manifestName))
	}
	if err != nil {
		return atCheckpoint(c.folder, errors.Join(err, c.manifest.close()))
	}

	err = c.manifest.lock.remove()
	switch {
	case err == nil && foreign != "":
		err = fmt.Errorf("%q does not belong to the checkpoint: it stays, and so does the directory", foreign)
	case err == nil:
		err = removeFile(c.folder)
	}
	if isThere(filepath.Join(c.folder, lockName)) {
		err = nil // another process has started to use the directory
	}
	return atCheckpoint(c.folder, err)
}

// removeFiles removes the files of the checkpoint except the manifest and the lock. It returns the
// name of a file that does not belong to the checkpoint, or "".
func (c *Checkpoint) removeFiles() (foreign string, err error) {
	entries, err := os.ReadDir(c.folder)
	var all safely.Group // in parallel, because freeing the space of a large file takes time
	for _, e := range entries {
		switch name := e.Name(); {
		case name == manifestName || name == lockName:
		case isTransient(e) || isListed(e):
			all.Go(func() error { return removeIfThere(filepath.Join(c.folder, name)) })
		default:
			foreign = name
		}
	}
	return foreign, errors.Join(err, all.Wait())
}

func removeIfThere(name string) error {
	err := removeFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
