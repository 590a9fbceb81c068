package dist

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/merge/output"
)

// Names in the directory of a plan and in that of the parts.
const (
	planName     = "plan.json"
	manifestName = "manifest.json"
	partPrefix   = "part-"
)

func (p *Plan) path(names ...string) string {
	return filepath.Join(append([]string{p.folder}, names...)...)
}

// makeFolders rejects objects that already exist: a part never replaces one.
func (p *Plan) makeFolders(ctx context.Context) error {
	folders := []string{p.folder, p.path(runs.folder), p.path(cuts.folder), p.path(parts.folder)}
	name, _ := p.partFile(0)
	if remote.IsURL(name) {
		_, err := remote.Open(ctx, name)
		if err == nil {
			err = fmt.Errorf(
				"%s: already exists: remove the objects of the earlier output, or name another output",
				name,
			)
		}
		if !errors.Is(err, remote.ErrMissing) {
			return err
		}
	} else if !p.OneFile {
		folders = append(folders, p.Output)
	}
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return fmt.Errorf(
				"create directory %s: %w", folder, device.WithoutPath(err),
			)
		}
	}
	if remote.IsURL(name) || p.OneFile {
		return nil
	}
	return refuseForeignParts(p)
}

// refuseForeignParts returns an error if the output directory contains a part that this plan does not
// write, such as one of an earlier sort with more parts.
func refuseForeignParts(p *Plan) error {
	entries, err := os.ReadDir(p.Output)
	if err != nil {
		return fmt.Errorf("read directory %s: %w", p.Output, device.WithoutPath(err))
	}
	own := map[string]bool{}
	for k := range p.Parts {
		own[partPrefix+taskDigits(k)] = true
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, partPrefix) && !own[name] {
			return fmt.Errorf("%s: has %s of another sort: remove its parts, or name another directory",
				p.Output, name)
		}
	}
	return nil
}

// Bytes returns the size of all records.
func (p *Plan) Bytes() int64 { return p.Records * int64(p.RecordBytes) }

// file returns the file with the records of a task, and the offset of these records.
func (p *Plan) file(of kind, k int) (name string, offset int64) {
	if of == runs {
		return p.runFile(k), 0
	}
	return p.partFile(k)
}

func (p *Plan) runFile(k int) string {
	return p.path(runs.folder, taskDigits(k))
}

// partFile returns the file of part k, and the offset of the part.
func (p *Plan) partFile(k int) (name string, offset int64) {
	switch name := partPrefix + taskDigits(k); {
	case remote.IsURL(p.Output):
		return strings.TrimSuffix(p.Output, "/") + "/" + name, 0
	case !p.OneFile:
		return filepath.Join(p.Output, name), 0
	}
	first, _ := partOf(k, p.Parts).Of(p.Records)
	offset = first * int64(p.RecordBytes)
	if exists(p.path(manifestName)) && !exists(p.partialName()) {
		return p.Output, offset
	}
	return p.partialName(), offset
}

// partialName returns the name of the single output file until it is verified. The name differs
// between plans.
func (p *Plan) partialName() string {
	return filepath.Join(
		filepath.Dir(p.Output),
		fmt.Sprintf(
			".%s.%s.partial", filepath.Base(p.Output), p.Fingerprint[:8],
		),
	)
}

// makePartial creates the single output file with its final size. No part is complete at that time.
// Merges do not create the file: a late merge would otherwise create it again after the output has
// received its name.
func (p *Plan) makePartial() error {
	if !p.OneFile || exists(p.path(manifestName)) {
		return nil
	}
	for k := 0; k < p.Parts && !exists(p.partialName()); k++ {
		if err := os.Remove(p.recordFile(parts, k)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf(
				"remove record %s: %w",
				p.recordFile(parts, k),
				device.WithoutPath(err),
			)
		}
	}
	perm := fs.FileMode(0o666)
	if exists(p.Output) {
		perm = 0o600 // until it gets the permissions of the file it replaces
	}
	file, err := os.OpenFile(p.partialName(), os.O_WRONLY|os.O_CREATE, perm)
	if err == nil {
		err = errors.Join(file.Truncate(p.Bytes()), file.Close())
	}
	if err == nil {
		err = output.KeepAccess(p.partialName(), p.Output)
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", p.partialName(), device.WithoutPath(err))
	}
	return nil
}

// absolute returns a name that is also valid on other machines, or the name of an object.
func absolute(name string) (string, error) {
	if remote.IsURL(name) {
		return name, nil
	}
	return filepath.Abs(name)
}

// fileStamp returns the size of a file or an object, and a text that identifies its version.
func fileStamp(
	ctx context.Context, name string,
) (size int64, words string, err error) {
	if remote.IsURL(name) {
		object, err := remote.Open(ctx, name)
		if err != nil {
			return 0, "", err
		}
		return object.Size, object.Stamp(), nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", name, device.WithoutPath(err))
	}
	return info.Size(), spill.Stamp(info), nil
}

// partOf returns task k of n.
func partOf(k, n int) session.Part {
	return session.Part{
		K: int64(k),
		N: int64(n),
	}
}

func taskDigits(k int) string { return fmt.Sprintf("%05d", k) }
