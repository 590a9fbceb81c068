package session

import (
	"container/heap"
	"context"
	"encoding/binary"
	"slices"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
)

// TopReport is the result of Top.
type TopReport struct {
	*Report

	// Columns are the columns of Records: the fields of the key, and the count.
	Columns    []format.Column
	RecordSize int    // size in bytes of a record in Records
	Records    []byte // one record for each key, the most frequent key first
}

// topShare limits the memory for the most frequent keys to 1/topShare of the memory limit.
const topShare = 16

// topOverhead is the memory of a key in addition to its bytes.
const topOverhead = 64

// Top sorts the inputs, counts the records of each key, and returns the n keys with the most
// records. Keys with equal counts are in ascending order.
func Top(ctx context.Context, opt Options, n int64) (*TopReport, error) {
	for _, key := range opt.Record.Keys {
		if _, _, isCall := format.ParseCall(key); isCall {
			return nil, option.Errorf(option.Keys, " %s: sort by it with %v NAME first, and use that field here",
				key, option.KeepKey)
		}
	}
	opt.Unique = true
	opt.Count = true
	opt.omitHeader = true
	top := &topKeys{most: n}
	report, err := eachRecord(ctx, opt, top.begin, func(rec []byte, _ error) bool {
		top.add(rec)
		return true
	})
	result := &TopReport{Report: report, Columns: top.columns, RecordSize: top.size}
	if err == nil {
		result.Records = top.records()
	}
	return result, err
}

// topKeys collects the most frequent keys. It is a heap with the least frequent key first.
type topKeys struct {
	most    int64
	fields  []format.Field
	columns []format.Column
	size    int // size of a result in bytes

	seen int64 // number of keys so far
	keys []topKey
}

// A topKey is one of the most frequent keys.
type topKey struct {
	record   []byte // the fields of the key, and the count
	count    uint64
	position int64 // number of keys up to this one, in sort order
}

// begin sets the columns of the results. It returns an error if they need too much memory.
func (k *topKeys) begin(s *session) error {
	in := s.run.Input
	layout := in.Keyer.Layout()
	k.fields = layout.Key
	columns := append(in.Header.KeyColumns(), resultsOf(&s.opt)...)
	k.nameColumns(columns, in.Header.Columns())
	for i := range columns {
		columns[i].Offset = k.size
		k.size += columns[i].Type.Size
	}
	k.columns = columns
	if fits := s.opt.MemoryBytes / topShare / int64(k.size+topOverhead); k.most > fits {
		return option.Errorf(option.Limit, " %d: at most %d keys fit in memory: raise %v or lower this number",
			k.most, fits, option.MemoryBytes)
	}
	return nil
}

// nameColumns names the fields of the key as the command print does. If one of them has the name
// count, the number of records gets the name records.
func (k *topKeys) nameColumns(columns, shown []format.Column) {
	count := &columns[len(columns)-1]
	for i := range columns[:len(columns)-1] {
		c := &columns[i]
		for _, s := range shown {
			if s.Offset == c.Offset && s.Type == c.Type {
				c.Name = s.Name
			}
		}
		if c.Name == count.Name {
			count.Name = "records"
		}
	}
}

// add adds a record that is followed by its count.
func (k *topKeys) add(rec []byte) {
	count := binary.LittleEndian.Uint64(rec[len(rec)-8:])
	k.seen++
	if k.most == 0 || int64(len(k.keys)) == k.most && count <= k.keys[0].count {
		return
	}
	var record []byte
	if int64(len(k.keys)) == k.most {
		record = k.keys[0].record[:0]
	}
	for _, f := range k.fields {
		record = append(record, rec[f.Offset:f.Offset+f.Type.Size]...)
	}
	record = append(record, rec[len(rec)-8:]...)
	key := topKey{record: record, count: count, position: k.seen}
	if int64(len(k.keys)) < k.most {
		heap.Push(k, key)
		return
	}
	k.keys[0] = key
	heap.Fix(k, 0)
}

// records returns the keys, the most frequent first. It empties the heap.
func (k *topKeys) records() []byte {
	var all [][]byte
	for len(k.keys) > 0 {
		all = append(all, heap.Pop(k).(topKey).record)
	}
	slices.Reverse(all)
	return slices.Concat(all...)
}

// These methods implement heap.Interface.

func (k *topKeys) Len() int { return len(k.keys) }

// Less reports whether key i is less frequent than key j. Of two keys with equal counts, the later
// one counts as less frequent.
func (k *topKeys) Less(i, j int) bool {
	a := &k.keys[i]
	b := &k.keys[j]
	if a.count != b.count {
		return a.count < b.count
	}
	return a.position > b.position
}

// Swap swaps two keys.
func (k *topKeys) Swap(i, j int) { k.keys[i], k.keys[j] = k.keys[j], k.keys[i] }

// Push appends a key.
func (k *topKeys) Push(key any) { k.keys = append(k.keys, key.(topKey)) }

// Pop removes the last key.
func (k *topKeys) Pop() any {
	last := len(k.keys) - 1
	key := k.keys[last]
	k.keys = k.keys[:last]
	return key
}
