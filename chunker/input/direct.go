package input

import (
	"os"
	"slices"

	"github.com/extsort/extsort/internal/blockio"
)

// UseDirectIO makes the files bypass the page cache and be read ahead, with the requests of a
// pool. It does nothing if one of the inputs is not an open file. Files whose file
// system does not support direct I/O are unaffected.
func UseDirectIO(all []*Input, pool *blockio.Pool) {
	if slices.ContainsFunc(all, func(in *Input) bool { return !in.isOpenFile() }) {
		return
	}
	by := &fetcher{pool: pool}
	for _, in := range all {
		if in.direct = blockio.Direct(in.origin.(*localFile).file, os.O_RDONLY); in.direct != nil {
			in.close = append(in.close, in.direct)
			all[0].queued = by
		}
	}
}

// isOpenFile reports whether the input is a file with random access whose descriptor is open.
func (in *Input) isOpenFile() bool {
	file, ok := in.origin.(*localFile)
	return ok && in.access == atOffsets && file.isOpen()
}
