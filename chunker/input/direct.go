package input

import (
	"io"
	"os"
	"slices"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/internal/fileerr"
)

// UseDirectIO makes the files bypass the page cache and be read ahead, with the requests of a
// queue. It does nothing if one of the inputs is not read with system calls. Files whose file
// system does not support direct I/O are unaffected.
func UseDirectIO(all []*Input, queue *spill.Queue) {
	if slices.ContainsFunc(all, func(in *Input) bool {
		return in.at == nil || in.at.file == nil || in.requests != nil
	}) {
		return
	}
	requests := &Requests{
		prefetchers: map[*spill.Prefetcher]bool{},
		queue:       queue,
		most:        queue.Ahead(),
	}
	for _, in := range all {
		if in.direct = spill.Direct(in.at.file, os.O_RDONLY); in.direct != nil {
			in.close = append(in.close, in.direct)
			all[0].queued = requests
		}
	}
}

// useDirectIO makes a prefetcher use direct I/O where possible. Its first unit is record base.
func (f *Files) useDirectIO(w *spill.Prefetcher, base int64) {
	read := w.Now
	w.Request = func(memory []byte, first, most int64) (int64, func() ([]byte, error)) {
		first += base
		i := f.inputOf(first)
		return f.inputs[i].directRequest(memory, first-f.starts[i], min(most, f.starts[i+1]-first))
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

				p = p[len(part):]
				first += n
			}
		})
		return err
	}
}

// directRequest prepares a direct read of records. Direct reads begin and end at page boundaries,
// whatever records are wanted.
func (in *Input) directRequest(
	memory []byte, first, most int64,
) (n int64, read func() ([]byte, error)) {
	size := int64(in.Header.Layout().RecordSize)
	off := in.at.start + in.Offset(first)
	skip := off % plan.SpillAlign
	n = min((int64(len(memory))-skip)/size, most)
	if in.direct == nil || n == 0 {
		return most, nil
	}
	return n, func() ([]byte, error) {
		end := skip + n*size
		got, err := in.direct.ReadAt(
			memory[:(end+plan.SpillAlign-1)/plan.SpillAlign*plan.SpillAlign], off-skip,
		)
		if int64(got) < end {
			// the end of the file cannot be read with direct I/O in this case
			if err == io.EOF || got%plan.SpillAlign != 0 {
				err = errShorter
			}
			return nil, &fileerr.Error{Op: "read", File: in.Name, Offset: in.Offset(first), Err: err}
		}

		recs := memory[skip:end]
		return recs, in.Header.CheckRecords(recs, first*size)
	}
}
