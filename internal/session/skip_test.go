package session

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestSortSkipsBytes sorts inputs with bytes before and after the records, in files, streams and
// compressed streams. The output can keep the bytes of the first input.
func TestSortSkipsBytes(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for _, name := range []string{"u64", "rec7", "gensort"} {
		k := kindNamed(name)
		size := k.layout(t).RecordSize
		for _, n := range []int{0, 1, 3000} {
			for range effort(8) {
				data := k.make(t, []string{"uniform", "few", "equal", "sorted", "reversed"}[r.IntN(5)], n, r)
				skip := int64(1 + r.IntN(5000))
				tail := int64(r.IntN(2) * r.IntN(5000))
				around := func(bytesThere int64) []byte { return bytes.Repeat([]byte{byte(r.Uint32())}, int(bytesThere)) }
				opt := Options{Record: k.spec, SkipBytes: skip, KeepHeader: r.IntN(2) == 0, Unique: r.IntN(2) == 0,
					Reverse: r.IntN(2) == 0}
				first, last, want := around(skip), around(tail), reference(t, k.layout(t), data, opt)
				if opt.KeepHeader {
					want = slices.Concat(first, want, last)
				}
				half := n / 2 * size
				pieces := [][]byte{
					slices.Concat(first, data[:half], last), slices.Concat(around(skip), data[half:], around(tail)),
				}
				if counted := n != 1 && r.IntN(2) == 0; !counted {
					opt.SkipTail = tail
				} else if opt.Records = int64(n / 2); n == 0 {
					opt.Records = NoRecords
				}
				opt = variant(opt, size, r)
				for _, piece := range pieces {
					switch r.IntN(3) {
					case 0:
						piece = compressed(t, piece, format.Zstd)
					case 1:
						if opt.Stdin == nil {
							opt.Inputs, opt.Stdin = append(opt.Inputs, "-"), &dribble{data: piece, most: 99}
							continue
						}
					}
					opt.Inputs = append(opt.Inputs, writeFile(t, piece))
				}
				if r.IntN(2) == 0 {
					opt.Output = filepath.Join(t.TempDir(), "out")
				}
				opt.Compress = []string{"none", "gzip"}[r.IntN(2)]
				checkSort(t, k, data, want, opt)
			}
		}
	}
}
