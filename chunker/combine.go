package chunker

import (
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
)

// A combiner combines records with equal keys while they are in a buffer of a scatterer, so that
// fewer are spilled. It takes the records piece by piece, finds the groups of equal keys in a hash
// table, and replaces each group by its result. The records of a key keep their order:
//
//	piece     c1 a2 b1 a3 a1 c4
//	groups    c1 c4 │ a2 a3 a1 │ b1
//	results   c5 a6 b1
//
// If most keys are different, it skips some of the next buffers.
type combiner struct {
	keyer *format.Keyer
	fold  *format.Fold
	size  int // record size in bytes

	keys   []uint64 // prefixes of the keys of a piece
	groups []uint16 // the group of each record
	firsts []uint16 // index of the first record of each group
	ends   []uint16 // number of records of each group, then the end of its records in grouped
	table  []uint16 // hash table: one more than a group; 0 means a free entry

	grouped []byte // the records of a piece, group by group

	toSkip int // number of buffers to skip
	pause  int // number of buffers that were skipped after the last one with different keys
}

const (
	// maxPause limits the number of buffers that are skipped.
	maxPause = 32

	// usefulShare is the divisor for the share of the records that must disappear so that the next
	// buffer is not skipped.
	usefulShare = 8

	// probesPerRecord limits the average search for a key. Only keys that do not suit the hash
	// function exceed it. Their records are not combined.
	probesPerRecord = 8
)

// newCombiner returns a combiner for an Aggregation. REQUIRES: CombinesRuns
func newCombiner(g *format.Aggregation) *combiner {
	size := g.Keyer().Layout().RecordSize
	records := min(plan.CombinedRecords, max(plan.CombinedBytes/size, 1))
	return &combiner{
		keyer:   g.Keyer(),
		fold:    g.NewFold(),
		size:    size,
		keys:    make([]uint64, records),
		groups:  make([]uint16, records),
		firsts:  make([]uint16, records),
		ends:    make([]uint16, records),
		table:   make([]uint16, 2*plan.CombinedRecords),
		grouped: make([]byte, records*size),
	}
}

// combining combines the records in the buffers of a scatterer.
type combining struct {
	combiner *combiner
	buffers  *plainBuffers
}

// empty combines the records in a buffer. It reports whether at least half of the buffer is free
// then, so that the results can wait there for more records with their keys.
func (c *combining) empty(partition int) bool {
	b := c.buffers
	b.filled[partition] = len(c.combiner.combine(b.Buffered(partition)))
	return b.filled[partition] <= b.bufferBytes/2
}

// combine combines records in place. It returns the results, which begin where recs begins.
func (c *combiner) combine(recs []byte) []byte {
	if c.toSkip > 0 {
		c.toSkip--
		return recs
	}
	results := recs[:0]
	piece := len(c.keys) * c.size
	for from := 0; from < len(recs); from += piece {
		results = c.combinePiece(results, recs[from:min(from+piece, len(recs))])
	}
	if len(recs)-len(results) >= len(recs)/usefulShare {
		c.pause = 0
		return results
	}
	c.pause = min(2*c.pause+1, maxPause)
	c.toSkip = c.pause
	return results
}

// combinePiece appends the results of a piece to dst, which may share memory with the piece: no
// result is written before its records have been read.
func (c *combiner) combinePiece(dst, recs []byte) []byte {
	n := len(recs) / c.size
	groups, ok := c.findGroups(recs)
	if !ok || groups == n {
		return append(dst, recs...)
	}
	c.group(recs, groups)

	from := 0
	for _, end := range c.ends[:groups] {
		to := int(end) * c.size
		dst = c.appendResult(dst, c.grouped[from:to])
		from = to
	}
	return dst
}

// findGroups sets the group of each record, and the number of records and the first record of each
// group. It returns the number of groups, and false if the search takes too long.
func (c *combiner) findGroups(recs []byte) (groups int, ok bool) {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	keys := c.keys[:len(recs)/c.size]
	c.keyer.Prefixes(keys, recs)
	clear(c.table)
	mask := uint64(len(c.table) - 1)
	probes := 0
	for i, key := range keys {
		at := (key ^ key>>32) * golden >> 32
		for ; ; at++ {
			entry := &c.table[at&mask]
			if *entry == 0 {
				c.firsts[groups] = uint16(i)
				c.ends[groups] = 0
				groups++
				*entry = uint16(groups)
			}
			if group := *entry - 1; c.hasKey(recs, keys, group, i) {
				c.groups[i] = group
				c.ends[group]++
				break
			}
			probes++
		}
		if probes > probesPerRecord*len(c.keys) {
			return 0, false
		}
	}
	return groups, true
}

// hasKey reports whether record i has the key of a group.
func (c *combiner) hasKey(recs []byte, keys []uint64, group uint16, i int) bool {
	first := int(c.firsts[group])
	if keys[first] != keys[i] {
		return false
	}
	if first == i || c.keyer.KeySize() <= 8 {
		return true
	}
	return c.keyer.Compare(recs[first*c.size:][:c.size], recs[i*c.size:][:c.size]) == 0
}

// group copies the records to c.grouped, group by group, and sets c.ends to the ends of the groups.
func (c *combiner) group(recs []byte, groups int) {
	ends := c.ends[:groups]
	start := uint16(0)
	for g, n := range ends {
		ends[g] = start
		start += n
	}
	for i, g := range c.groups[:len(recs)/c.size] {
		copy(c.grouped[int(ends[g])*c.size:], recs[i*c.size:(i+1)*c.size])
		ends[g]++
	}
}

// appendResult appends the result of the records of a group. If a sum does not fit, it appends the
// records.
func (c *combiner) appendResult(dst, recs []byte) []byte {
	if len(recs) == c.size {
		return append(dst, recs...)
	}
	c.fold.Reset()
	c.fold.Add(recs)
	if c.fold.Fits() {
		if out, err := c.fold.AppendResult(dst); err == nil {
			return out
		}
	}
	return append(dst, recs...)
}
