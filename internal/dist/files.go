package dist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/output"
)

// Names in the folder of a plan, and in that of the parts.
const (
	planName     = "plan.json"
	cutsName     = "cuts.json"
	manifestName = "manifest.json"
	runsFolder   = "runs"
	recordFolder = "parts"
	partPrefix   = "part-"
)

func (p *Plan) path(names ...string) string {
	return filepath.Join(append([]string{p.folder}, names...)...)
}

// makeFolders makes the folders that tasks write to.
func (p *Plan) makeFolders() error {
	folders := []string{p.folder, p.path(runsFolder), p.path(recordFolder)}
	if !p.OneFile {
		folders = append(folders, p.Output)
	}
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return fmt.Errorf("make folder %s: %w", folder, device.WithoutPath(err))
		}
	}
	return nil
}

func (p *Plan) runFile(k int) string { return p.path(runsFolder, number(k)) }

// partFile is where part k is, and where it begins there.
func (p *Plan) partFile(k int) (name string, offset int64) {
	if !p.OneFile {
		return filepath.Join(p.Output, partPrefix+number(k)), 0
	}
	first, _ := partOf(k, p.Parts).Of(p.Records)
	offset = first * int64(p.RecordBytes)
	if exists(p.path(manifestName)) && !exists(p.partial()) {
		return p.Output, offset
	}
	return p.partial(), offset
}

// partial is the name of the one output file until it is verified. Another plan has another one.
func (p *Plan) partial() string {
	return filepath.Join(filepath.Dir(p.Output), fmt.Sprintf(".%s.%s.partial", filepath.Base(p.Output), p.Fingerprint[:8]))
}

// makePartial makes the one output file, empty, and no part of it is done then. Merges do not make it: one that is late
// would make another when the output has its name.
func (p *Plan) makePartial() error {
	if !p.OneFile || exists(p.partial()) || exists(p.path(manifestName)) {
		return nil
	}
	for k := range p.Parts {
		if err := os.Remove(p.recordFile(parts, k)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove record %s: %w", p.recordFile(parts, k), device.WithoutPath(err))
		}
	}
	file, err := os.OpenFile(p.partial(), os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("create %s: %w", p.partial(), device.WithoutPath(err))
	}
	return file.Close()
}

// partOf is task k of n.
func partOf(k, n int) extsort.Part { return extsort.Part{K: int64(k), N: int64(n)} }

func number(k int) string { return fmt.Sprintf("%05d", k) }

// Record says what a task has done. It is written when the file of the task is durable.
type Record struct {
	Schema   int             `json:"schema"`
	Plan     string          `json:"plan"` // fingerprint
	Task     string          `json:"task"`
	File     string          `json:"file"`
	Offset   int64           `json:"offset"`
	Bytes    int64           `json:"bytes"` // of the task, from Offset on
	Records  int64           `json:"records"`
	Checksum format.Checksum `json:"checksum"`
	FirstKey []byte          `json:"first_key,omitempty"` // normalized; of a part
	LastKey  []byte          `json:"last_key,omitempty"`
	Host     string          `json:"host"`
	Began    time.Time       `json:"began"`
	Seconds  float64         `json:"seconds"`
}

// kind is a kind of task, and the folder with its records.
type kind struct{ name, folder string }

var (
	runs  = kind{"run", runsFolder}
	parts = kind{"merge", recordFolder}
)

func (p *Plan) recordFile(of kind, k int) string { return p.path(of.folder, number(k)+".json") }

// record is that of a task which is done; nil: it is not. That its file is as the record says others may see later.
func (p *Plan) record(of kind, k int) (*Record, error) {
	r := &Record{}
	err := readJSON(p.recordFile(of, k), r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case r.Plan != p.Fingerprint:
		return nil, nil
	}
	if r.File = p.runFile(k); of == parts { // by the name that it has now, and here
		r.File, _ = p.partFile(k)
	}
	return r, nil
}

// fits reports whether the file of a task is as its record says. One file of all parts grows as they come.
func (p *Plan) fits(r *Record) bool {
	info, err := os.Stat(r.File)
	shared := p.OneFile && r.Task == parts.name
	return err == nil && (info.Size() == r.Bytes || shared && r.Offset+r.Bytes <= info.Size())
}

// keep writes the record of a task that is done.
func (p *Plan) keep(ctx context.Context, of kind, k int, r *Record, began time.Time) error {
	r.Schema, r.Plan, r.Task, r.Began = schema, p.Fingerprint, of.name, began.UTC().Round(time.Millisecond)
	r.Seconds = time.Since(began).Seconds()
	r.Host, _ = os.Hostname() // only to be read by people
	return writeJSON(ctx, p.recordFile(of, k), r)
}

// writeJSON writes a file that appears whole or not at all, and is durable then.
func writeJSON(ctx context.Context, name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	file, err := output.Open(ctx, name, nil)
	if err != nil {
		return err
	}
	if _, err = file.Write(append(text, '\n')); err != nil {
		return errors.Join(err, file.Abort())
	}
	return file.Commit(-1)
}

func readJSON(name string, v any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, device.WithoutPath(err))
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
