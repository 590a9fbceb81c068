package dist

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/session"
)

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
