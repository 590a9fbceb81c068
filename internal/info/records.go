package info

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/extsort/extsort/format"
)

// Record is a record divided into parts: its fields, and the bytes between them.
type Record struct {
	Record int64     `json:"record"` // from 0
	Byte   int64     `json:"byte"`   // position in the decompressed file
	Parts  []Segment `json:"parts"`
}

// Segment is a field of a record, or bytes without a known meaning.
type Segment struct {
	Offset int    `json:"offset"`
	Size   int    `json:"size"`
	Field  string `json:"field,omitempty"` // name, or OFFSET:TYPE; "": unknown
	Hex    string `json:"hex"`             // first 64 bytes
	Value  string `json:"value,omitempty"` // text without a field is quoted
}

const (
	maxPartHex = 64 // maximum bytes of a part to show
	maxFields  = 24 // maximum fields of a record to show
	unknownRow = 32 // bytes to show if the record size is unknown
)

// readShown reads the first, a middle and the last record. If the layout is unknown, it uses the
// likeliest record size. If no size is likely, it reads a few bytes.
func (l *inspection) readShown() (shown []Record, err error) {
	size := int64(l.report.RecordSize)
	records := l.report.Records
	header := l.report.HeaderBytes
	if size == 0 && len(l.report.RecordSizes) > 0 {
		likely := l.report.RecordSizes[0]
		if likely.LeftOver == 0 ||
			likely.Header > 0 {
			size = int64(likely.RecordSize)
			records = likely.Records
			header = likely.Header
		}
	}
	if size == 0 {
		size = min(unknownRow, max(l.src.readableBytes(), 1))
		records = 1
	}
	for _, i := range slices.Compact([]int64{0, (records - 1) / 2, records - 1}) {
		if i < 0 || i >= records && records >= 0 {
			continue
		}
		rec := make([]byte, size)
		at := header + i*size
		ok, err := l.src.read(rec, at)
		if err != nil {
			return nil, err
		}
		if ok {
			shown = append(shown, Record{
				Record: i,
				Byte:   at,
				Parts:  partsOf(rec, l.shownFields()),
			})
		}
	}
	return shown, nil
}

// shownFields returns the fields of an array that have a type, or else the fields of the key,
// ordered by position.
func (l *inspection) shownFields() (fields []format.ArrayField) {
	switch {
	case l.array != nil:
		for _, f := range l.array.Fields {
			if f.Why == "" {
				fields = append(fields, f)
			}
		}
	case l.header != nil:
		for _, f := range l.header.Layout().Key {
			f.Desc = false
			fields = append(fields, format.ArrayField{
				Field: f,
				Name:  f.String(),
			})
		}
	}
	slices.SortStableFunc(fields, func(a, b format.ArrayField) int {
		return cmp.Compare(a.Offset, b.Offset)
	})
	return fields[:min(len(fields), maxFields)]
}

func partsOf(rec []byte, fields []format.ArrayField) (parts []Segment) {
	end := 0
	unknown := func(to int) {
		if to > end {
			parts = append(parts, newPart(rec, end, to, ""))
		}
	}
	for _, f := range fields {
		unknown(f.Offset)
		part := newPart(
			rec, f.Offset, f.Offset+f.Type.Size, cmp.Or(f.Name, f.String()),
		)
		part.Value = valueOf(rec, f.Field)
		parts = append(parts, part)
		end = max(end, f.Offset+f.Type.Size)
	}
	unknown(len(rec))
	return parts
}

func newPart(rec []byte, from, to int, field string) Segment {
	p := Segment{
		Offset: from,
		Size:   to - from,
		Field:  field,
		Hex:    hex.EncodeToString(rec[from:min(to, from+maxPartHex)]),
	}
	text := rec[from:min(to, from+maxPartHex)]
	if field == "" &&
		!slices.ContainsFunc(text, func(c byte) bool {
			return c < ' ' || c > '~'
		}) {
		p.Value = strconv.Quote(string(text))
	}
	return p
}

// valueOf returns the value of a field in readable form.
func valueOf(rec []byte, f format.Field) string {
	layout := format.Layout{RecordSize: len(rec), Key: []format.Field{f}}
	keyer, err := format.NewKeyer(layout)
	if err != nil {
		return "" // wider than a key may be
	}
	return layout.KeyText(keyer.Append(nil, rec))
}
