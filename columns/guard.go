package columns

import (
	"fmt"
	"io"
)

// guarded returns a reader of records whose keys must fit into their slots, because records are compared only
// by their slots. If it is not for whole rows, it returns only the first record of each row.
func (t *table) guarded(src io.Reader, isWhole bool) io.Reader {
	if len(t.layout.variable) == 0 {
		return src
	}
	check := func(row []byte) error {
		for _, c := range t.layout.chosen {
			if c.isTruncated(row) {
				return fmt.Errorf("%s: key %s has a value of %d bytes: at most %d can be compared here", t.label(), c.name,
					c.lengthIn(row), maxPrefix)
			}
		}
		return nil
	}
	if !isWhole {
		return newHeadReader(src, t.layout, check)
	}
	w := &recordWriter{size: t.layout.recordSize}
	w.next = func(record []byte) error {
		if record[t.layout.keyBytes] != 0 { // not the first record of a row
			return nil
		}
		return check(record)
	}
	return io.TeeReader(src, w)
}
