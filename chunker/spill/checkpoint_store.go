package spill

import (
	"os"
	"path/filepath"
	"strconv"
)

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
