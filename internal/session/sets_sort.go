package session

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/internal/safely"
)

// errNotNeeded is the error of a sort whose records are no longer needed.
var errNotNeeded = errors.New("the records are no longer needed")

// A presort sorts the inputs of a set operation. A separate sort for each input writes to a pipe.
type presort struct {
	cancel context.CancelFunc
	fail   func(cause error) // called when a sort fails
	group  safely.Group
	ends   []*io.PipeReader
	bytes  int64 // memory for each sort
}

// newPresort divides the memory limit among the sorts of n inputs and the operation itself.
func newPresort(limit int64, n int) (*presort, error) {
	limit = profile.LimitMemory(limit, MinMemory, systemMemory)
	share := limit / int64(n+1)
	if share < MinMemory {
		needed := int64(n+1) * MinMemory
		return nil, &MemoryError{Limit: limit, Least: needed, Text: fmt.Sprintf(
			"sorting %d inputs at once needs %s: raise %v, or sort them beforehand, one after another", n,
			human.Bytes(needed), option.MemoryBytes)}
	}
	return &presort{bytes: share}, nil
}

// start starts the sort of each input, and replaces each input with a stream of its sorted records.
func (p *presort) start(ctx context.Context, m *MergeOptions) {
	opt := m.options()
	opt.merge = nil
	opt.MemoryBytes = p.bytes
	opt.Output = ""
	opt.SplitFiles = 0
	opt.SplitBytes = 0
	opt.Compress = "none"
	opt.Sink = nil
	opt.Progress = nil
	opt.MeasureMemory = false
	sources := opt.sources()
	opt.Inputs = nil
	m.Inputs = nil
	m.Sources = nil
	for _, source := range sources {
		from, to := io.Pipe()
		p.ends = append(p.ends, from)
		one := opt
		one.Sources = []Source{source}
		one.Stdout = to
		p.group.Go(func() error {
			err := safely.Call(func() error {
				_, err := Sort(ctx, one)
				return err
			})
			to.CloseWithError(err)
			if err != nil {
				p.fail(err)
			}
			return nil // the reader of the pipe gets the error
		})
		m.Sources = append(m.Sources, Source{Name: shownName(source), Reader: from})
	}
	m.Raw = m.Record.Container().IsPlain
	m.Decompress = "none"
	m.SkipBytes = 0
	m.Records = 0
	m.SkipTail = 0
	m.KeepHeader = false
	m.MemoryBytes = p.bytes
}

// stop cancels the running sorts and waits for them.
func (p *presort) stop() {
	for _, end := range p.ends {
		end.CloseWithError(errNotNeeded)
	}
	p.cancel()
	p.group.Wait()
}
