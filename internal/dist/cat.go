package dist

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/remote"
)

const (
	aheadBytes = 64 << 20  // by which objects are read ahead
	catBytes   = 512 << 20 // of which parts of an object that is sent have their share
)

// Cat writes the parts of a complete output one after the other.
func (p *Plan) Cat(ctx context.Context, to io.Writer) error {
	m, err := p.manifest()
	if err != nil {
		return fmt.Errorf("%w (the output is not verified: extsort dist status %s)", err, p.folder)
	}
	for k := range m.Parts {
		if err := p.copyPart(ctx, k, m.Parts[k].Bytes, to); err != nil {
			return err
		}
	}
	return nil
}

// within is an object to which its store copies others.
type within struct{ *remote.Upload }

// CatTo makes one object of the parts. The store copies them where they are in it and large enough for that; else they
// go through here.
func (p *Plan) CatTo(ctx context.Context, name string) error {
	size, parallel := plan.UploadParts(catBytes, p.Bytes())
	copies := remote.SameStore(p.Output, name) && p.Records/int64(p.Parts)*int64(p.RecordBytes) >= remote.MinPart
	if copies { // without memory
		size, parallel = remote.MinPart, plan.RemoteRequests
	}
	object, err := remote.Create(ctx, name, size, parallel)
	if err != nil {
		return err
	}
	var to io.Writer = object
	if copies {
		to = within{object}
	}
	if err = p.Cat(ctx, to); err != nil {
		return errors.Join(err, object.Abort())
	}
	return object.Commit(-1)
}

// copyObject writes a part that is an object.
func copyObject(ctx context.Context, name string, bytes int64, to io.Writer) error {
	object, err := remote.Open(ctx, name)
	switch store, ok := to.(within); {
	case err != nil:
	case object.Size != bytes:
		err = fmt.Errorf("%s: has %d bytes, and has to have %d", name, object.Size, bytes)
	case ok:
		err = store.Copy(object)
	default:
		ahead := input.Ahead(object, bytes, aheadBytes)
		defer ahead.Close()
		_, err = io.Copy(to, ahead)
	}
	return err
}

func (p *Plan) copyPart(ctx context.Context, k int, bytes int64, to io.Writer) error {
	name, offset := p.partFile(k)
	if remote.Is(name) {
		return copyObject(ctx, name, bytes, to)
	}
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, device.WithoutPath(err))
	}
	defer file.Close()                                      // which was only read
	defer context.AfterFunc(ctx, func() { file.Close() })() // which ends the copying
	n, err := io.Copy(to, io.NewSectionReader(file, offset, bytes))
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && n < bytes:
		err = fmt.Errorf("%s: ends after %d bytes, and has to have %d", name, offset+n, offset+bytes)
	}
	return err
}
