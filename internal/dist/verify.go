package dist

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/merge/output"
)

// A Manifest describes the output. It exists when all parts exist and are consistent.
type Manifest struct {
	Schema          int    `json:"schema"`
	Plan            string `json:"plan"`
	Sum             string `json:"sum"` // as in Record
	Output          string `json:"output"`
	RawOutput       []byte `json:"output_base64,omitempty"` // the same, if it is not UTF-8
	Bytes           int64  `json:"bytes"`
	session.Summary `json:"summary"`
	Parts           []*Record `json:"parts"`
}

// Verify combines the records of the parts. It checks that the parts follow each other and
// contain the records of the runs. Then it writes the manifest and renames the single output file
// into place. It removes the runs unless keepRuns is set.
func (w *Worker) Verify(ctx context.Context, keepRuns bool) (*Manifest, error) {
	m, err := w.Plan.manifest()
	finished := err == nil
	damaged := errors.Is(err, errDamaged)
	if damaged ||
		errors.Is(err, fs.ErrNotExist) {
		m, err = w.Plan.makeManifest(ctx, damaged)
		if err == nil {
			err = writeJSON(ctx, w.Plan.path(manifestName), m)
		}
	}
	if err == nil && finished {
		err = checkPartial(ctx, w.Plan)
	}
	if err == nil {
		err = w.Plan.publish()
	}
	if err == nil && finished {
		err = checkPartSizes(ctx, w.Plan)
	}
	// Incomplete uploads of killed attempts.
	first, _ := w.Plan.partFile(0)
	if err == nil && remote.IsURL(first) {
		left := remote.Forget(ctx, strings.TrimSuffix(first, taskDigits(0)))
		if left != nil {
			w.Tell(left.Error()) // an incomplete upload only costs space
		}
	}
	if err == nil && !keepRuns {
		err = w.Plan.removeRuns()
	}
	return m, markRetryable(err)
}

func (p *Plan) manifest() (*Manifest, error) {
	m := &Manifest{}
	err := readJSON(p.path(manifestName), m)
	if err == nil && m.Plan != p.Fingerprint {
		err = fmt.Errorf(
			"%s: belongs to another plan: remove it", p.path(manifestName),
		)
	}
	if errors.Is(err, errDamaged) {
		err = fmt.Errorf(
			"%w (extsort dist verify %s makes it again)",
			err,
			shellescape.Quote(p.folder),
		)
	}
	return m, err
}

// checkPartSizes checks the size of each part of a finished sort.
func checkPartSizes(ctx context.Context, p *Plan) error {
	return runConcurrently(ctx, p.Parts, func(ctx context.Context, k int) error {
		first, end := partOf(k, p.Parts).Of(p.Records)
		r := &Record{
			Task:  parts.name,
			Bytes: (end - first) * int64(p.RecordBytes),
		}
		r.File, r.Offset = p.file(parts, k)
		fits, err := p.fileMatches(ctx, r)
		if err == nil && !fits {
			err = fmt.Errorf(
				"part %d of %d: %s: is missing, or its size has changed: restore it, or remove "+
					"%s and sort again",
				k,
				p.Parts,
				r.File,
				p.folder,
			)
		}
		return err
	})
}

// makeManifest makes the manifest from the records of all runs and parts. If again is set, the
// manifest existed before, and the files of the runs may have been removed.
func (p *Plan) makeManifest(ctx context.Context, again bool) (*Manifest, error) {
	find := (*Plan).checkedRecords
	if again {
		find = allRecords
	}
	sorted, err := find(p, ctx, runs)
	if err != nil {
		return nil, err
	}
	merged, err := p.checkedRecords(ctx, parts)
	if err != nil {
		return nil, err
	}
	in := session.Summary{Checksum: "0", Order: sorted[0].Order}
	out := in
	for _, r := range sorted { // runs do not follow each other, but contain the same records
		if err := in.Add(&r.Summary); err != nil {
			return nil, fmt.Errorf("%s: %w", r.File, err)
		}
	}
	for k, r := range merged {
		if !out.Precedes(&r.Summary, false) {
			return nil, fmt.Errorf(
				"part %d overlaps the previous part (remove %s, and merge it again)",
				k,
				p.recordFile(parts, k),
			)
		}
		if err := out.Add(&r.Summary); err != nil {
			return nil, fmt.Errorf("%s: %w", r.File, err)
		}
	}
	if in.Records != p.Records || out.Records != in.Records ||
		out.Checksum != in.Checksum {
		return nil, fmt.Errorf(
			"the runs have %d records with checksum %s, but the parts have %d with %s: remove %s, and "+
				"start over",
			in.Records,
			in.Checksum,
			out.Records,
			out.Checksum,
			p.folder,
		)
	}
	return &Manifest{
		Schema: schema, Plan: p.Fingerprint, Output: p.Output, RawOutput: p.RawOutput, Bytes: p.Bytes(),
		Summary: out, Parts: merged,
	}, nil
}

// checkPartial returns an error if the manifest exists, but the unpublished output does not contain
// its parts: a plan that was made at the same moment has created the file again.
func checkPartial(ctx context.Context, p *Plan) error {
	if !p.OneFile || !exists(p.partialName()) {
		return nil
	}
	if _, err := allRecords(p, ctx, parts); err != nil {
		return fmt.Errorf(
			"%s: was created after the output was verified, and lacks parts of it: remove it if %s is there, "+
				"else remove %s and sort again (%w)", p.partialName(), p.Output, p.folder, err)
	}
	return nil
}

// publish renames the single output file into place, if that has not been done.
func (p *Plan) publish() error {
	if !p.OneFile || !exists(p.partialName()) {
		return nil
	}
	// Its permissions may have changed since the plan was made.
	err := output.KeepAccess(p.partialName(), p.Output)
	if err == nil {
		err = os.Rename(p.partialName(), p.Output)
	}
	if err != nil {
		return fmt.Errorf(
			"finish output %s: %w", p.Output, device.WithoutPath(err),
		)
	}
	return spill.SyncNames(filepath.Dir(p.Output))
}

// exists reports whether a file exists. If that can't be found out, it reports true, so that the next
// operation on the file returns the error.
func exists(name string) bool {
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// removeRuns removes the files of the runs and their indexes, which are no longer needed. Their
// records remain.
func (p *Plan) removeRuns() error {
	for k := range p.Runs {
		for _, name := range []string{p.runFile(k), indexFile(p.runFile(k))} {
			if err := os.Remove(name); err != nil &&
				!errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf(
					"remove run %s: %w", name, device.WithoutPath(err),
				)
			}
		}
	}
	return nil
}

// ReadBack reads the parts of a share and compares them with their records.
func (w *Worker) ReadBack(ctx context.Context, s session.Part) error {
	from, to := s.Of(int64(w.Plan.Parts))
	for k := int(from); k < int(to); k++ {
		r, err := w.Plan.record(parts, k)
		if err == nil && r == nil {
			err = fmt.Errorf("is not done: run extsort dist merge --part %d/%d %s", k, w.Plan.Parts,
				shellescape.Quote(w.Plan.folder))
		}
		if err == nil {
			err = w.readBack(
				ctx,
				k,
				&r.Summary,
				"remove "+w.Plan.recordFile(parts, k)+", and merge it again",
			)
		}
		if err != nil {
			return markRetryable(
				fmt.Errorf("part %d of %d: %w", k, w.Plan.Parts, err),
			)
		}
		w.Tell(fmt.Sprintf("part %d is unchanged", k))
	}
	return nil
}

// readBack checks part k. If its records are wrong, the error includes hint.
func (w *Worker) readBack(
	ctx context.Context, k int, want *session.Summary, hint string,
) error {
	p := w.Plan
	name, _ := p.partFile(k)
	opt := fields.Shared[session.CheckOptions](w.Options)
	opt.Input = session.Source{Name: name}
	opt.Record = p.Record
	opt.Reverse = p.Reverse
	opt.Raw = true
	if p.OneFile {
		opt.Part = partOf(k, p.Parts)
	}
	found, err := session.Check(ctx, opt)
	if err == nil && found.Summary != *want {
		err = fmt.Errorf(
			"%s: does not contain the records that were written", name,
		)
	}
	if err != nil && found != nil {
		err = fmt.Errorf("%w (%s)", err, hint)
	}
	return err
}
