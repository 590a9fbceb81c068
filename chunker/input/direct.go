package input

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
)

// GoPast has files be read past the page cache, and ahead, by the requests of a queue. Nothing changes where one of
// them is not read by calls, and for those whose file systems cannot.
func GoPast(all []*Input, queue *spill.Queue) {
	if slices.ContainsFunc(all, func(in *Input) bool { return in.at == nil || in.at.file == nil || in.requests != nil }) {
		return
	}
	requests := &Requests{windows: map[*spill.Window]bool{}, queue: queue, most: queue.Ahead()}
	for _, in := range all {
		if in.direct = spill.Direct(in.at.file, os.O_RDONLY); in.direct != nil {
			in.close = append(in.close, in.direct)
			all[0].queued = requests
		}
	}
}

// goPast has a window that begins with the record base be read past the page cache, as far as that can be.
func (f *Files) goPast(w *spill.Window, base int64) {
	read := w.Now
	w.Request = func(memory []byte, first, most int64) (int64, func() ([]byte, error)) {
		first += base
		i := f.inputOf(first)
		return f.inputs[i].pastCache(memory, first-f.starts[i], min(most, f.starts[i+1]-first))
	}
	w.Now = func(p []byte, first int64) (err error) {
		w.Queue.Read(func(memory []byte) {
			for len(p) > 0 && err == nil {
				n, get := w.Request(memory, first, int64(len(p)/f.size))
				part := p[:int(n)*f.size]
				if get == nil {
					err = read(part, first)
				} else {
					var recs []byte
					recs, err = get()
					copy(part, recs)
				}
				p, first = p[len(part):], first+n
			}
		})
		return err
	}
}

// pastCache is a request. What goes past the page cache begins and ends with a page, whatever records are wanted.
func (in *Input) pastCache(memory []byte, first, most int64) (n int64, read func() ([]byte, error)) {
	size := int64(in.Header.Layout().RecordSize)
	off := in.at.start + in.Offset(first)
	skip := off % plan.SpillAlign
	n = min((int64(len(memory))-skip)/size, most)
	if in.direct == nil || n == 0 {
		return most, nil
	}
	return n, func() ([]byte, error) {
		end := skip + n*size
		got, err := in.direct.ReadAt(memory[:(end+plan.SpillAlign-1)/plan.SpillAlign*plan.SpillAlign], off-skip)
		if int64(got) < end {
			if err == io.EOF || got%plan.SpillAlign != 0 { // what follows the end cannot be read from there
				err = errShorter
			}
			return nil, fmt.Errorf("read %s at byte %d: %w", in.Name, in.Offset(first), err)
		}
		recs := memory[skip:end]
		return recs, in.Header.CheckRecords(recs, first*size)
	}
}
