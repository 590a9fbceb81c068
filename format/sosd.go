package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/extsort/extsort/internal/option"
)

// A SOSD file (Kipf et al., SOSD: A Benchmark for Learned Indexes, 2019):
//
//	00  count  u64le   number of keys
//	08  keys   count × u32le or u64le
const sosdHeaderSize = 8

var sosd = container{
	Container: Container{
		Name:     "sosd",
		About:    "a count, then keys (u32 or u64)",
		HasCount: true,
		Title:    "the first 8 bytes count the keys after them",
	},
	counts: "the number of keys after them, as in a sosd file",
	guess:  guessSosd,
	check: func(s Spec) []error {
		return slices.Concat(
			exclusion(
				sosdKeyBytes[s.Type] == 0,
				option.Format,
				" sosd needs the type of its keys: %v u32 or %v u64",
				option.Type,
				option.Type,
			),
			exclusion(len(s.Keys) > 0, option.Format, " sosd excludes %v: its records are plain "+
				"numbers", option.Keys))
	},
	read:   Spec.readSosd,
	create: func(s Spec) (*Header, error) { return s.newSosd(-1), nil },
	encode: func(_ *Header, records int64) []byte {
		return binary.LittleEndian.AppendUint64(nil, uint64(records))
	},
	withAppended: func(*Header, []Column) error {
		return fmt.Errorf(
			"a sosd file has only keys and no room for counts or results: use %v TYPE %v 8 instead of its format",
			option.Type, option.SkipBytes,
		)
	},
}

var sosdKeyBytes = map[string]int64{"u32": 4, "u64": 8}

func (s Spec) newSosd(records int64) *Header {
	t, _ := ParseType(s.Type) // checked by Validate
	return &Header{
		layout:  Bare(t),
		size:    sosdHeaderSize,
		records: records,
	}
}

func (s Spec) readSosd(r io.Reader) (*Header, error) {
	var b [sosdHeaderSize]byte
	if err := readPart(r, b[:], "the key count"); err != nil {
		return nil, err
	}
	count := binary.LittleEndian.Uint64(b[:])
	if count > math.MaxInt64/8 {
		return nil, fmt.Errorf(
			"a count of %d keys at byte 0 is impossible: is this a sosd file?", count,
		)
	}
	return s.newSosd(int64(count)), nil
}

// guessSosd recognizes a file whose first value is the number of the values after it.
func guessSosd(f file) (s Spec, ok bool) {
	types := []string{f.description.Type}
	if f.description.Type == "" {
		types = []string{"u32", "u64"}
	}
	data := f.bytes - sosdHeaderSize
	if f.description.RecordSize > 0 || data <= 0 || len(f.first) < sosdHeaderSize {
		return Spec{}, false
	}
	count := binary.LittleEndian.Uint64(f.first)
	for _, name := range types {
		size := sosdKeyBytes[name]
		if size > 0 && data%size == 0 && count == uint64(data/size) {
			return Spec{Format: "sosd", Type: name}, true
		}
	}

	return Spec{}, false
}
