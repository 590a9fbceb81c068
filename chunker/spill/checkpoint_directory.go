package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/extsort/extsort/internal/safely"
)

// Names or prefixes of the files in the directory of a checkpoint.
const (
	manifestName   = "manifest"
	newManifest    = "manifest-new" // until it is complete
	lockName       = "lock"
	removedLock    = "lock-removed" // while the directory is being removed
	spillPrefix    = "spill-"
	longIndexes    = spillPrefix + "index"
	runIndexPrefix = "run-"
)

// checkForeignFiles returns an error if the directory contains foreign files, because the end of the sort
// removes the directory. Without a manifest there are no spill files: the manifest is written
// before the first one and removed after the last one.
func checkForeignFiles(folder string) error {
	// Another process may be creating or removing the manifest.
	before := exists(filepath.Join(folder, manifestName))
	entries, err := os.ReadDir(folder)
	hasManifest := before || exists(filepath.Join(folder, manifestName))

	for _, e := range entries {
		if isTransient(e) || hasManifest && isListed(e) {
			continue
		}
		return fmt.Errorf("%q does not belong to a checkpoint: name an empty or new directory", e.Name())
	}
	return err
}

func exists(name string) bool {
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
	if exists(filepath.Join(c.folder, lockName)) {
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
