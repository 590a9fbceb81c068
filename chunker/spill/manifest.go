package spill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/zeebo/xxh3"
)

// A manifest lists the data that a checkpoint has kept. Each update writes a new file, syncs it
// and renames it. So after a crash the manifest is either the old or the new one. A manifest
// looks like this:
//
//	extsort-checkpoint 4 XXH3 LENGTH\n   the version, and the checksum and the length of the JSON
//	{"identity":[…],"runs":[…],…}        content, as JSON
//
// A run may have many blocks, which never change. Therefore each run has its own index file,
// which is written once. The manifest contains the length and the checksum of each index file.
type manifest struct {
	folder string
	lock   *folderLock // nil if there is no checkpoint
	content
}

// content is the content of a manifest, which is stored as JSON.
type content struct {
	Identity keptIdentity `json:"identity,omitempty"`
	Runs     []*keptRun   `json:"runs,omitempty"`    // in the order of their origins
	Output   *KeptOutput  `json:"output,omitempty"`  // nil if none exists yet
	Written  *Written     `json:"written,omitempty"` // nil if nothing is written
	Complete string       `json:"complete,omitempty"`
	Appended bool         `json:"appended,omitempty"` // results are appended to the records of runs
}

// manifestVersion changes with the format of the manifest or of the files it lists.
const manifestVersion = 4

// manifestHeader is the format of the first line.
const manifestHeader = "extsort-checkpoint %d %s %d\n"

// open locks the directory and reads the manifest, if it exists. After an error the directory is
// not locked.
func (m *manifest) open(ctx context.Context, folder string, readOnly bool) error {
	lock, err := lockFolder(ctx, folder, readOnly)
	if err != nil {
		return err
	}
	m.folder = folder
	m.lock = lock
	if err = m.read(); err != nil {
		m.close()
		m.lock = nil
	}

	return err
}

func (m *manifest) close() error {
	if m.lock == nil {
		return nil
	}
	return m.lock.close()
}

// writable reports whether the manifest may be changed.
func (m *manifest) writable() bool {
	return m.lock != nil && !m.lock.shared
}

func (m *manifest) read() error {
	text, err := os.ReadFile(filepath.Join(m.folder, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if m.content, err = decodeManifest(text); err != nil {
		return err
	}
	for _, run := range m.Runs {
		if err := run.readBlocks(m.folder); err != nil {
			return err
		}
	}

	return nil
}

// decodeManifest decodes the result of encode.
func decodeManifest(text []byte) (c content, err error) {
	line, body, _ := bytes.Cut(text, []byte("\n"))
	var version, length int
	var sum string
	if _, err := fmt.Sscanf(
		string(line)+"\n", manifestHeader, &version, &sum, &length,
	); err != nil {
		return c, errUnusable("its manifest is damaged, or of another version of extsort")
	}
	switch {
	case string(line)+"\n" != fmt.Sprintf(manifestHeader, version, sum, length):
		return c, errUnusable("its manifest is damaged: its first line is malformed")
	case version != manifestVersion:
		return c, errUnusable(
			"its manifest is damaged, or of another version of extsort: %d instead of %d",
			version, manifestVersion,
		)
	case len(body) != length:
		return c, errUnusable("its manifest is damaged: it has %d of %d bytes", len(body), length)
	case checksum(body) != sum:
		return c, errUnusable(
			"its manifest is damaged: its checksum is %s instead of %s", checksum(body), sum,
		)
	}

	if err = json.Unmarshal(body, &c); err == nil {
		err = c.check()
	}
	if err != nil {
		return content{}, errUnusable("its manifest is damaged: %w", err)
	}
	return c, nil
}

// check returns an error for content that encode never writes and that would cause a panic later.
func (c *content) check() error {
	if slices.Contains(c.Runs, nil) {
		return errors.New("it has an empty run")
	}
	if c.Written == nil {
		return nil
	}
	records := int64(0)
	for _, s := range c.Written.Stretches {
		if len(s.Taken) != len(c.Written.Of) || s.Records < records {
			return errors.New("the list of output written so far is not in order")
		}
		records = s.Records
	}

	return nil
}

func (c *content) encode() ([]byte, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	header := fmt.Sprintf(manifestHeader, manifestVersion, checksum(body), len(body))
	return append([]byte(header), body...), nil
}

func checksum(text []byte) string {
	return fmt.Sprintf("%016x", xxh3.Hash(text))
}

// replace replaces the content of the manifest and makes it durable. After an error the manifest is
// unchanged.
func (m *manifest) replace(next content) error {
	text, err := next.encode()
	if err == nil {
		err = writeDurably(filepath.Join(m.folder, newManifest), text)
	}
	if err == nil {
		err = os.Rename(filepath.Join(m.folder, newManifest), filepath.Join(m.folder, manifestName))
	}
	if err == nil {
		err = SyncNames(m.folder)
	}
	if err == nil {
		m.content = next
	}
	return err
}

// writeDurably writes and syncs a file, but not its name. It also returns an error from closing
// the file.
func writeDurably(name string, text []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// addRun adds a run to the manifest and removes the runs that it was merged from. REQUIRES: the
// files of the run are durable, and their names
func (m *manifest) addRun(run *keptRun) error {
	next := m.content
	var replaced []*keptRun
	next.Runs = nil

	for _, r := range m.Runs {
		if run.First <= r.First && r.First+r.Records <= run.First+run.Records {
			replaced = append(replaced, r)
		} else {
			next.Runs = append(next.Runs, r)
		}
	}

	next.Runs = append(next.Runs, run)
	slices.SortFunc(next.Runs, func(a, b *keptRun) int {
		return int(min(max(a.First-b.First, -1), 1))
	})
	if err := m.replace(next); err != nil {
		return err
	}
	for _, r := range replaced {
		if r.indexName() != run.indexName() {
			// if this fails, the end of the sort removes the file
			_ = os.Remove(filepath.Join(m.folder, r.indexName()))
		}
	}

	return nil
}

// forgetRuns removes everything from the manifest except the description of a complete output.
func (m *manifest) forgetRuns() error {
	return m.replace(content{Identity: m.Identity, Complete: m.Complete})
}

// ends returns, for each spill file, the end of the last block of a run.
func (m *manifest) ends() (ends []int64) {
	for _, run := range m.Runs {
		for i := range run.Blocks {
			b := &run.Blocks[i]
			ends = endAt(ends, b.Volume, b.Offset+aligned(b.Bytes))
		}
		if run.Long != nil {
			for volume, end := range run.Long.Ends {
				ends = endAt(ends, volume, end)
			}
		}
	}

	return ends
}
