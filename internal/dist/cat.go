package dist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"al.essio.dev/pkg/shellescape"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/merge/output"
)

const (
	aheadBytes = 64 << 20  // read-ahead for objects
	catBytes   = 512 << 20 // memory shared by the parts of an uploaded object
)

// Cat writes the parts of a complete output one after the other.
func (p *Plan) Cat(ctx context.Context, to io.Writer) error {
	if err := checkStream(p, to); err != nil {
		return err
	}
	m, err := p.manifest()
	if err != nil {
		return fmt.Errorf(
			"%w (the output is not verified: extsort dist status %s)",
			err,
			shellescape.Quote(p.folder),
		)
	}
	if remote.IsURL(p.Output) {
		return catObjects(ctx, p, m, to)
	}
	for k := range m.Parts {
		if err := p.copyFile(ctx, k, m.Parts[k].Bytes, to); err != nil {
			return err
		}
	}
	return nil
}

// catObjects opens several parts at a time. It fetches the beginning of a part while it fetches
// the end of the previous one.
func catObjects(ctx context.Context, p *Plan, m *Manifest, to io.Writer) error {
	all := make(objectChain, len(m.Parts))
	err := runConcurrently(ctx, len(all), func(_ context.Context, k int) (err error) {
		name, _ := p.partFile(k)
		all[k], err = remote.Open(ctx, name) // reading starts when all are open
		if err == nil && all[k].Size != m.Parts[k].Bytes {
			err = fmt.Errorf(
				"%s: has %d bytes instead of %d",
				name,
				all[k].Size,
				m.Parts[k].Bytes,
			)
		}
		return err
	})
	store, copies := to.(*remote.Upload)
	for _, object := range all {
		if err == nil && copies {
			err = store.Copy(object)
		}
	}
	if err == nil && !copies {
		ahead := input.Ahead(all, m.Bytes, aheadBytes)
		defer ahead.Close()
		_, err = io.Copy(to, ahead)
	}
	return err
}

// objectChain reads objects one after the other.
type objectChain []*remote.Object

func (all objectChain) ReadAt(p []byte, at int64) (n int, err error) {
	for _, object := range all {
		end := min(at+int64(len(p)-n), object.Size)
		if at < end && err == nil {
			var m int
			m, err = object.ReadAt(p[n:n+int(end-at)], at)
			n += m
		}
		at = max(at-object.Size, 0)
	}
	return n, err
}

// CatTo joins the parts into one file or object. A store copies large parts by itself, if both
// are in the same store. All other parts pass through this process.
func (p *Plan) CatTo(ctx context.Context, name string) error {
	if err := checkCat(p, name); err != nil {
		return err
	}
	size, parallel := plan.UploadParts(catBytes, p.Bytes())
	copies := remote.SameStore(p.Output, name) &&
		p.Records/int64(p.Parts)*int64(p.RecordBytes) >= remote.MinPart
	if copies { // copying needs no memory
		size = remote.MinPart
		parallel = plan.RemoteRequests
	}
	out, err := output.Create(ctx, name, output.FileOptions{}, size, parallel)
	if err != nil {
		return err
	}
	var to io.Writer = out
	if !copies {
		to = struct{ io.Writer }{out} // hides the method Copy
	}
	if err = p.Cat(ctx, to); err != nil {
		return errors.Join(err, out.Abort())
	}
	return out.Commit(ctx, -1)
}

// checkCat rejects a name that denotes a part or the plan.
func checkCat(p *Plan, name string) error {
	taken := []string{p.path(planName)}
	for k := range p.Parts {
		part, _ := p.partFile(k)
		taken = append(taken, part)
	}
	for _, other := range taken {
		if other == name || filename.SameFile(other, name) {
			return fmt.Errorf(
				"-o %s: is %s, which is part of the sort: name another output",
				name,
				other,
			)
		}
	}
	return nil
}

// checkStream is checkCat for an output that may be an open file.
func checkStream(p *Plan, to io.Writer) error {
	file, ok := to.(*os.File)
	if !ok {
		return nil
	}
	opened, err := file.Stat()
	if err != nil {
		return nil // the write fails, too
	}
	for k := range p.Parts {
		part, _ := p.partFile(k)
		if from, err := os.Stat(part); err == nil && os.SameFile(from, opened) {
			return fmt.Errorf("%s is part of the sort and also the output: write to another file", part)
		}
	}
	return nil
}

func (p *Plan) copyFile(
	ctx context.Context, k int, bytes int64, to io.Writer,
) error {
	name, offset := p.partFile(k)
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, device.WithoutPath(err))
	}
	// Closing a file that was only read cannot lose data.
	defer file.Close()
	defer context.AfterFunc(ctx, func() { file.Close() })() // stops the copy
	n, err := io.Copy(to, io.NewSectionReader(file, offset, bytes))
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && n < bytes:
		err = fmt.Errorf(
			"%s: ends after %d bytes instead of %d",
			name,
			offset+n,
			offset+bytes,
		)
	}
	return err
}
