package dist

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/filename"
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

func (of kind) tasks(p *Plan) int {
	if of == runs {
		return p.Runs
	}
	return p.Parts
}

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

// A Record describes the result of a task. It is written when the file of the task is durable.
type Record struct {
	Schema int    `json:"schema"`
	Plan   string `json:"plan"` // fingerprint
	// Checksum of the text of this file with this field set to "".
	Sum             string `json:"sum"`
	Task            string `json:"task"`
	File            string `json:"file"`
	RawFile         []byte `json:"file_base64,omitempty"` // the same, if it is not UTF-8
	Offset          int64  `json:"offset"`
	Bytes           int64  `json:"bytes"` // of the task's records, which start at Offset
	session.Summary `json:"summary"`
	Host            string    `json:"host"`
	Began           time.Time `json:"began"`
	Seconds         float64   `json:"seconds"`
}

// A kind is a kind of task, with the directory of its records.
type kind struct{ name, folder string }

var (
	runs  = kind{"run", "runs"}
	cuts  = kind{"cut", "cuts"}
	parts = kind{"merge", "parts"}
)

func (p *Plan) recordFile(of kind, k int) string {
	return p.path(of.folder, taskDigits(k)+".json")
}

// record returns the record of a task. It returns nil if the task is not done, or if its record
// is damaged, so that the task must be repeated. It does not check that the file matches the
// record.
func (p *Plan) record(of kind, k int) (*Record, error) {
	r := &Record{}
	err := readJSON(p.recordFile(of, k), r)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged) ||
		err == nil && r.Plan != p.Fingerprint {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.File, r.Offset = p.file(of, k) // the current name, as seen from this machine
	r.RawFile = filename.Raw(r.File)
	return r, nil
}

// matchingRecord returns the record of task k if the task's file matches it, and nil if the record
// is missing or does not match.
func matchingRecord(ctx context.Context, p *Plan, of kind, k int) (*Record, error) {
	r, err := p.record(of, k)
	if r == nil {
		return nil, err
	}
	if fits, err := p.fileMatches(ctx, r); !fits {
		return nil, err
	}
	return r, nil
}

// fileMatches reports whether the file of a task matches its record. It returns an error if a store
// does not answer.
func (p *Plan) fileMatches(ctx context.Context, r *Record) (bool, error) {
	size, _, err := fileStamp(ctx, r.File)
	if remote.IsURL(r.File) && err != nil && !errors.Is(err, remote.ErrMissing) {
		return false, markRetryable(err)
	}
	due := r.Bytes
	if p.OneFile && r.Task == parts.name {
		due = p.Bytes()
	}
	return err == nil && size == due, nil
}

func (p *Plan) storeRecord(
	ctx context.Context, of kind, k int, done *session.Report, began time.Time,
) (*Record, error) {
	first, end := partOf(k, of.tasks(p)).Of(p.Records)
	if done.RecordsOut != end-first {
		return nil, fmt.Errorf(
			"%d records were written instead of %d", done.RecordsOut, end-first,
		)
	}
	if done.Summary == nil {
		return nil, errors.New("its output was not verified")
	}
	r := &Record{
		Schema: schema, Plan: p.Fingerprint, Task: of.name, Bytes: (end - first) * int64(p.RecordBytes),
		Summary: *done.Summary, Began: began.UTC().Round(
			time.Millisecond,
		), Seconds: time.Since(began).Seconds(),
	}
	r.File, r.Offset = p.file(of, k)
	r.RawFile = filename.Raw(r.File)
	r.Host, _ = os.Hostname() // information for people
	return r, writeJSON(ctx, p.recordFile(of, k), r)
}

// errDamaged means that the content of a file of the plan was changed by a crash or a disk error.
var errDamaged = errors.New("is damaged")

// sealed is the content of a file that includes a checksum of its own text. seal returns a pointer
// to the checksum.
type sealed interface{ seal() *string }

func (r *Record) seal() *string   { return &r.Sum }
func (c *cut) seal() *string      { return &c.Sum }
func (m *Manifest) seal() *string { return &m.Sum }

// withSum replaces the checksum of a file in its text. It is the first checksum of the text: those
// of records within the file follow it.
func withSum(text []byte, old, sum string) []byte {
	const key = `"sum": "`
	return bytes.Replace(text, []byte(key+old+`"`), []byte(key+sum+`"`), 1)
}

func sumOf(text []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(text))[:32]
}

// writeJSON writes a durable file that appears completely or not at all.
func writeJSON(ctx context.Context, name string, v any) error {
	if v, ok := v.(sealed); ok {
		*v.seal() = ""
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if v, ok := v.(sealed); ok {
		*v.seal() = sumOf(text)
		text = withSum(text, "", *v.seal())
	}
	return output.WriteFile(ctx, name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// readJSON reads a file of writeJSON. It returns errDamaged if the content has changed.
func readJSON(name string, v any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, device.WithoutPath(err))
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w (%v)", name, errDamaged, err)
	}
	if v, ok := v.(sealed); ok &&
		sumOf(withSum(text, *v.seal(), "")) != *v.seal() {
		return fmt.Errorf(
			"%s: %w: its checksum does not match", name, errDamaged,
		)
	}
	return nil
}
