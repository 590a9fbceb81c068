package dist

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/device"
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

func (p *Plan) copyPart(ctx context.Context, k int, bytes int64, to io.Writer) error {
	name, offset := p.partFile(k)
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
