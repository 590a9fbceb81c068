package bench

import (
	"encoding/binary"
	"runtime"

	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
)

// seed is the seed of all keys, so that every run sorts the same keys.
const seed = 1

// layoutOf returns the layout of records as in files: a little-endian key, followed by the index.
func layoutOf(k opencl.KeyKind) format.Layout {
	key := format.Type{Kind: format.Unsigned, Size: k.WordBytes}
	if !k.Values {
		return format.Bare(key)
	}
	return format.Layout{
		RecordSize: k.WordBytes + 4,
		Key:        []format.Field{{Type: key}},
	}
}

// generate returns the records of a case. The value of each record is its index.
func generate(c Case) ([]byte, error) {
	layout := layoutOf(c.Key)
	g, err := format.NewGenerator(layout, c.Dist, seed, c.Records)
	if err != nil {
		return nil, err
	}
	recs := make([]byte, c.Records*int64(layout.RecordSize))
	inParts(c.Records, func(begin, end int64) {
		part := recs[begin*int64(layout.RecordSize) : end*int64(layout.RecordSize)]
		g.Fill(part, begin)
		if c.Key.Values {
			storeIndexes(part, layout.RecordSize, begin)
		}
	})
	return recs, nil
}

// storeIndexes stores the index of each record in its last four bytes.
func storeIndexes(recs []byte, size int, first int64) {
	for i := 0; i < len(recs)/size; i++ {
		binary.LittleEndian.PutUint32(
			recs[(i+1)*size-4:], uint32(first)+uint32(i),
		)
	}
}

// inParts divides n items into one part for each processor and works on all parts at the same
// time.
func inParts(n int64, work func(begin, end int64)) {
	parts := int64(runtime.GOMAXPROCS(0))
	var group safely.Group
	for part := range parts {
		group.Go(func() error {
			work(n*part/parts, n*(part+1)/parts)
			return nil
		})
	}
	_ = group.Wait() // work does not fail
}
