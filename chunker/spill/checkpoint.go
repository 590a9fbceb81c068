package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/option"
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

	handedOver bool // the file of the output
	complete   bool // that file has its name

	background errgroup.Group
	failed     atomic.Bool // something in the background
}

// Names in the folder of a checkpoint.
const (
	manifestName = "manifest"
	spillPrefix  = "spill-"
)

// OpenCheckpoint makes a checkpoint, whose folder a crash may not take away, or goes on with it. Nobody else may work
// there meanwhile. readOnly: it only reads what is finished, if anything is.
func OpenCheckpoint(folder string, readOnly bool) (*Checkpoint, error) {
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
		err = undamaged(func() error { return c.kept.open(filepath.Join(folder, manifestName), readOnly) })
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
	return fmt.Errorf(reason+" (remove the folder to start anew, or name another)", args...)
}

// checkOurs refuses a folder with files of others, since the end of the sort removes it.
func checkOurs(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if name := e.Name(); name != manifestName && !strings.HasPrefix(name, spillPrefix) {
			return fmt.Errorf("%s there is of no checkpoint: name an empty folder, or one that is not there yet", name)
		}
	}
	return err
}

// Identify refuses to go on with what is of another sort. The last thing, which all inputs make, is not compared where
// the output is complete: it may be one of them by now.
func (c *Checkpoint) Identify(now Identity, output string) error {
	was, err := c.kept.identity, c.findComplete(output)
	if err == nil && c.complete {
		now = now[:len(now)-1]
	}
	for i := range min(len(was), len(now)) {
		if was[i] != now[i] && !(c.complete && strings.HasSuffix(now[i][1], " of "+c.kept.complete)) {
			c.complete = false
			left := ""
			if c.kept.output != "" {
				left = "; what it has written is " + c.kept.output
			}
			return atCheckpoint(c.folder, errAnew("it is of another sort: %v was %s, and is %s now%s",
				option.Field(was[i][0]), was[i][1], now[i][1], left))
		}
	}
	if was == nil && err == nil && c.kept.db != nil && !c.kept.db.IsReadOnly() {
		err = c.kept.put(identityKey, now)
	}
	return atCheckpoint(c.folder, err)
}

// findComplete finds out whether a run before has given the output its name, and makes that durable.
func (c *Checkpoint) findComplete(output string) error {
	name, missing := filepath.EvalSymlinks(output)
	info, err := os.Stat(name)
	if missing != nil || err != nil || Stamp(info) != c.kept.complete {
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
		c.kept.complete = Stamp(info)
		err = c.kept.put(completeKey, c.kept.complete)
	}
	return atCheckpoint(c.folder, err)
}

// Finish says that the output has its name: Close removes the checkpoint.
func (c *Checkpoint) Finish() { c.complete = true }

// State is what is finished.
func (c *Checkpoint) State() *plan.Checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &plan.Checkpoint{Folder: c.folder, Runs: len(c.kept.runs), Complete: c.complete}
	for _, run := range c.kept.runs {
		s.Records += run.Records
		for i := range run.Blocks {
			s.StoredBytes += aligned(run.Blocks[i].Bytes)
		}
	}
	if c.kept.written != nil {
		s.Written = c.kept.written.Records
	}
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

// keptFile is a file of spill that keeps its name when it is closed.
type keptFile struct{ *diskFile }

func (f keptFile) Close() error { return f.file.Close() }

// keep enters a run when its blocks are durable, and then gives back the space of those that it was merged from.
func (c *Checkpoint) keep(run *Run, replaced []*Run, s *Spill) error {
	c.background.Go(func() error {
		err := c.sync(run.blocks)
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			err = c.kept.putRun(&keptRun{run.Origin, run.blocks})
		}
		if err != nil {
			c.failed.Store(true)
			return atCheckpoint(c.folder, err)
		}
		for _, run := range replaced {
			s.release(run.blocks)
		}
		return nil
	})
	if c.failed.Load() {
		return c.Wait()
	}
	return nil
}

// sync makes blocks durable, and the names of their files.
func (c *Checkpoint) sync(blocks []Block) error {
	files := map[int]bool{}
	for i := range blocks {
		files[blocks[i].Volume] = true
	}
	var all errgroup.Group
	for i := range files {
		all.Go(c.files[i].Sync)
	}
	all.Go(func() error { return SyncNames(c.folder) })
	return all.Wait()
}

// SyncNames makes the names in a folder durable.
func SyncNames(name string) error {
	folder, err := os.Open(name)
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

// Output is the file that the last merge writes to, in the folder of the output; "": there is none yet. From now on
// the caller sees to it.
func (c *Checkpoint) Output() string {
	c.handedOver = true
	return c.kept.output
}

// SetOutput enters that file, of which nothing is written.
func (c *Checkpoint) SetOutput(name string) error {
	c.kept.output, c.kept.written = name, nil
	return atCheckpoint(c.folder, c.kept.put(outputKey, name, writtenKey))
}

// Written is how far the last merge had come; nil: nothing is written.
func (c *Checkpoint) Written() *Written { return c.kept.written }

// SetWritten enters how far it has come, when sync has made that durable. While something else is being entered it
// waits, or else reports false and does nothing.
func (c *Checkpoint) SetWritten(w *Written, sync func() error, wait bool) bool {
	enter := func() error {
		if err := sync(); err != nil {
			return err
		}
		return atCheckpoint(c.folder, c.kept.put(writtenKey, w))
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
	if c.kept.db == nil {
		return nil
	}
	_ = c.Wait() // the sort knows what went wrong
	nothing := len(c.kept.runs) == 0 && (c.handedOver || c.kept.output == "")
	if (c.complete || nothing) && !c.kept.db.IsReadOnly() {
		return c.remove()
	}
	return c.kept.db.Close()
}

// remove removes the checkpoint, the manifest last: until then it names a complete output, and no run that is gone. A
// sort that is killed meanwhile has nothing left to do the next time but this.
func (c *Checkpoint) remove() error {
	err := c.kept.forgetRuns()
	if runtime.GOOS == "windows" { // which removes no open file
		c.kept.db.Close()
	}
	defer c.kept.db.Close()
	entries, unread := os.ReadDir(c.folder)
	var all errgroup.Group // to free the space of a large file takes a while
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), spillPrefix) {
			all.Go(func() error { return os.Remove(filepath.Join(c.folder, e.Name())) })
		}
	}
	if err = errors.Join(err, unread, all.Wait(), SyncNames(c.folder)); err == nil {
		err = errors.Join(os.Remove(filepath.Join(c.folder, manifestName)), os.Remove(c.folder))
	}
	return atCheckpoint(c.folder, err)
}
