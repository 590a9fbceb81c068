package columns

import (
	"bytes"
	"fmt"
	"slices"
)

// A sample contains values of variable width of some rows. It decides how they are stored: any
// decision is right, but some are faster.
type sample struct {
	rows []sampledRow
}

// A sampledRow contains a row's values of variable width, in the order of the layout. Only the
// beginnings of keys are kept.
type sampledRow struct {
	lengths []int
	keys    [][]byte
}

// Bounds of the layout of values of variable width.
const (
	maxPrefix     = 250     // bytes of a key: its length has a byte
	prefixMargin  = 8       // bytes of a key in addition to those that distinguish sampled values
	minPrefix     = 16      // unless all sampled values are shorter
	maxRecordSize = 1 << 13 // unless columns of fixed width need more
	sampledRows   = 512     // of each place
	sampledPlaces = 8
)

// sampleInputs reads rows from places all over the inputs.
func sampleInputs(inputs []input, l *layout) (*sample, error) {
	s := &sample{}
	if len(l.variable) == 0 {
		return s, nil
	}
	count := min(len(inputs), sampledPlaces)
	for i := range count {
		in := inputs[i*len(inputs)/count]
		if err := in.sample(s, l, sampledPlaces/count); err != nil {
			return nil, fmt.Errorf("%s: %w", in.label(), err)
		}
	}
	return s, nil
}

// read adds the first rows of a decoder, of which only columns of variable width are read.
func (s *sample) read(d *rowDecoder) error {
	for left := int(min(d.left, sampledRows)); left > 0; {
		rows := left
		for _, v := range d.variable {
			var err error
			if rows, err = v.prepare(rows); err != nil {
				return err
			}
		}
		for row := range rows {
			s.add(d.variable, row)
		}
		for _, v := range d.variable {
			v.skip(rows)
		}
		left -= rows
	}
	return nil
}

// add adds a prepared row.
func (s *sample) add(variable []*variableDecoder, at int) {
	row := sampledRow{keys: make([][]byte, len(variable))}
	for i, v := range variable {
		value := v.value(at)
		row.lengths = append(row.lengths, len(value))
		if v.column.isKey {
			row.keys[i] = bytes.Clone(value[:min(len(value), maxPrefix)])
		}
	}
	s.rows = append(s.rows, row)
}

// prefix returns how many bytes of a key are in its slot: all, if the values are short, else those
// that distinguish different values, and some more.
func (s *sample) prefix(variable []*column, c *column) int {
	at := slices.Index(variable, c)
	longest := 1
	var values [][]byte
	for _, row := range s.rows {
		longest = max(longest, row.lengths[at])
		values = append(values, row.keys[at])
	}
	slices.SortFunc(values, bytes.Compare)
	common := 0
	for i := 1; i < len(values); i++ {
		if !bytes.Equal(values[i-1], values[i]) {
			common = max(common, commonPrefix(values[i-1], values[i]))
		}
	}
	return min(longest, max(minPrefix, common+prefixMargin), maxPrefix)
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// recordSize returns the size of records with which the sampled rows cost the least: their bytes, and
// perRecord bytes for each record.
func (s *sample) recordSize(l *layout) int {
	const (
		alignment = 4
		perRecord = 24
	)
	smallest := (l.headBytes + alignment - 1) / alignment * alignment
	if len(s.rows) == 0 {
		return smallest
	}
	var payloads []int
	for _, row := range s.rows {
		payload := 0
		for i, c := range l.variable {
			payload += c.payloadOf(row.lengths[i])
		}
		payloads = append(payloads, payload)
	}
	slices.Sort(payloads)
	longest := min(l.headBytes+payloads[len(payloads)-1], max(maxRecordSize, smallest))
	step := max(alignment, (longest-smallest)/100/alignment*alignment)
	best := smallest
	least := int64(0)
	sized := *l
	for size := smallest; size < longest+step; size += step {
		sized.recordSize = size
		total := int64(0)
		for _, payload := range payloads {
			total += int64(sized.pieces(payload) * (size + perRecord))
		}
		if least == 0 || total < least {
			least = total
			best = size
		}
	}
	return best
}
