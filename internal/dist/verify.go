package dist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Manifest says what the output is. It is there once all parts are, and fit together.
type Manifest struct {
	Schema   int             `json:"schema"`
	Plan     string          `json:"plan"`
	Output   string          `json:"output"`
	Records  int64           `json:"records"`
	Bytes    int64           `json:"bytes"`
	Checksum format.Checksum `json:"checksum"`
	FirstKey []byte          `json:"first_key,omitempty"` // normalized
	LastKey  []byte          `json:"last_key,omitempty"`
	Parts    []*Record       `json:"parts"`
}

// Verify joins what is known of the parts: whether they follow each other, and have the records that went into the
// runs. Then it writes the manifest, and gives the one output file its name. Runs are removed unless they are to be
// kept.
func (w *Worker) Verify(ctx context.Context, keepRuns bool) (*Manifest, error) {
	m, err := w.Plan.manifest()
	if errors.Is(err, fs.ErrNotExist) {
		m, err = w.Plan.join(ctx)
		if err == nil {
			err = writeJSON(ctx, w.Plan.path(manifestName), m)
		}
	}
	if err == nil {
		err = w.Plan.publish(m)
	}
	if err == nil && !keepRuns {
		err = w.Plan.removeRuns()
	}
	return m, classed(err)
}

func (p *Plan) manifest() (*Manifest, error) {
	m := &Manifest{}
	err := readJSON(p.path(manifestName), m)
	if err == nil && m.Plan != p.Fingerprint {
		err = fmt.Errorf("%s: is of another plan: remove it", p.path(manifestName))
	}
	return m, err
}

// join makes the manifest of the records of all runs and parts.
func (p *Plan) join(ctx context.Context) (*Manifest, error) {
	sorted, err := p.done(ctx, runs, p.Runs)
	if err != nil {
		return nil, err
	}
	merged, err := p.done(ctx, parts, p.Parts)
	if err != nil {
		return nil, err
	}
	var in, out Record
	for _, r := range sorted {
		in.add(r)
	}
	for k, r := range merged {
		if out.Records > 0 && r.Records > 0 && bytes.Compare(out.LastKey, r.FirstKey) > 0 {
			return nil, fmt.Errorf("part %d begins before the one before it ends (remove %s, and merge it again)",
				k, p.recordFile(parts, k))
		}
		out.add(r)
	}
	if in.Records != p.Records || out.Records != in.Records || out.Checksum != in.Checksum {
		return nil, fmt.Errorf("%d records with checksum %v went into the runs, and %d with %v came out: remove %s, and "+
			"begin anew", in.Records, in.Checksum, out.Records, out.Checksum, p.folder)
	}
	return &Manifest{
		Schema: schema, Plan: p.Fingerprint, Output: p.Output, Records: out.Records, Bytes: out.Bytes,
		Checksum: out.Checksum, FirstKey: out.FirstKey, LastKey: out.LastKey, Parts: merged,
	}, nil
}

// add adds what comes next.
func (r *Record) add(next *Record) {
	if r.Records == 0 {
		r.FirstKey = next.FirstKey
	}
	if next.Records > 0 {
		r.LastKey = next.LastKey
	}
	r.Records, r.Bytes = r.Records+next.Records, r.Bytes+next.Bytes
	r.Checksum.Merge(next.Checksum)
}

// publish gives the one output file its name, unless it has it.
func (p *Plan) publish(m *Manifest) error {
	if !p.OneFile || !exists(p.partial()) {
		return nil
	}
	err := os.Truncate(p.partial(), m.Bytes) // of a plan without records it is longer than that, or missing
	if err == nil {
		err = os.Rename(p.partial(), p.Output)
	}
	if err != nil {
		return fmt.Errorf("finish output %s: %w", p.Output, device.WithoutPath(err))
	}
	folder, err := os.Open(filepath.Dir(p.Output))
	if err != nil {
		return err
	}
	return errors.Join(spill.SyncFolder(folder), folder.Close())
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// removeRuns removes the files of the runs, which nobody needs any more. Their records stay.
func (p *Plan) removeRuns() error {
	for k := range p.Runs {
		if err := os.Remove(p.runFile(k)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove run %s: %w", p.runFile(k), device.WithoutPath(err))
		}
	}
	return nil
}

// ReadBack reads the parts of a share, and compares them with their records.
func (w *Worker) ReadBack(ctx context.Context, s extsort.Part) error {
	from, to := s.Of(int64(w.Plan.Parts))
	for k := int(from); k < int(to); k++ {
		r, err := w.Plan.record(parts, k)
		if err == nil && r == nil {
			err = fmt.Errorf("is not done: extsort dist merge --part %d/%d %s", k, w.Plan.Parts, w.Plan.folder)
		}
		if err == nil {
			err = w.Plan.readBack(ctx, r)
		}
		if err != nil {
			return classed(fmt.Errorf("part %d of %d: %w", k, w.Plan.Parts, err))
		}
		w.Tell(fmt.Sprintf("part %d is as it was written", k))
	}
	return nil
}

// readBackBytes is how much of a part is read at a time, if a record is not larger.
const readBackBytes = 1 << 20

func (p *Plan) readBack(ctx context.Context, r *Record) error {
	file, err := os.Open(r.File)
	if err != nil {
		return fmt.Errorf("%s: %w", r.File, device.WithoutPath(err))
	}
	defer file.Close() // which was only read
	now := Record{}
	buf := make([]byte, max(readBackBytes/p.RecordBytes, 1)*p.RecordBytes)
	for at := int64(0); at < r.Bytes && ctx.Err() == nil; at += int64(len(buf)) {
		recs := buf[:min(int64(len(buf)), r.Bytes-at)]
		if _, err := file.ReadAt(recs, r.Offset+at); err != nil && err != io.EOF {
			return fmt.Errorf("read %s at byte %d: %w", r.File, r.Offset+at, device.WithoutPath(err))
		}
		order := format.CheckBlock(p.keyer, 0, recs)
		piece := &Record{Records: order.Records}
		piece.FirstKey, piece.LastKey = order.Ends()
		piece.Checksum.Add(recs, p.RecordBytes)
		if order.FirstDisorder >= 0 || bytes.Compare(now.LastKey, piece.FirstKey) > 0 {
			return fmt.Errorf("%s: is out of order within %d bytes of byte %d (remove it and merge it again)",
				r.File, len(recs), r.Offset+at)
		}
		now.add(piece)
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if now.Checksum != r.Checksum {
		return fmt.Errorf("%s: has other records than were written (remove it and merge it again)", r.File)
	}
	return nil
}
