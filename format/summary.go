package format

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Summary describes sorted records that may be a part of a whole. Summaries of consecutive
// parts add up.
type Summary struct {
	Records int64 `json:"records"`
	// number of records whose key equals that of their predecessor
	Duplicates int64 `json:"duplicates"`
	// Checksum is the sum of the CRC-32 of the records as 128 bits in hexadecimal, compatible
	// with valsort.
	Checksum string `json:"checksum"`
	// normalized, in hexadecimal; compares like the keys
	FirstKey string `json:"first_key,omitempty"`
	LastKey  string `json:"last_key,omitempty"`
	First    string `json:"first,omitempty"` // the same in readable form
	Last     string `json:"last,omitempty"`
	Order    string `json:"order"` // layout of a record, with the directions of its keys
}

// NewSummary returns the Summary of records of a layout.
func NewSummary(l Layout, o Order, sum Checksum) Summary {
	s := Summary{
		Records:    o.Records,
		Duplicates: o.Duplicates,
		Checksum:   sum.String(),
		Order:      l.String(),
	}
	if i := slices.IndexFunc(l.Key, func(f Field) bool {
		return f.HasNaNs() && f.nanOrder() != NaNTotal
	}); i >= 0 {
		s.Order += ", NaNs " +
			map[NaNOrder]string{
				NaNFirst: "first",
				NaNLast:  "last",
			}[l.Key[i].nanOrder()]
	}
	if l.isNumeric() {
		s.Order += ", zeros and NaNs equal"
	}
	first, last := o.Ends()
	if o.Records > 0 {
		s.FirstKey, s.LastKey = hex.EncodeToString(first), hex.EncodeToString(last)
		s.First, s.Last = l.KeyText(first), l.KeyText(last)
	}

	return s
}

// Validate returns an error if s is not a valid Summary.
func (s *Summary) Validate() error {
	_, err := s.sum()
	ends := (s.Records > 0) == (s.FirstKey != "") &&
		len(s.FirstKey) == len(s.LastKey)
	if err != nil || s.Order == "" || s.Records < 0 || !ends {
		return errors.New("is not a summary of records")
	}
	return nil
}

func (s *Summary) sum() (sum Checksum, err error) {
	const half = 16
	text := strings.Repeat("0", max(2*half-len(s.Checksum), 0)) + s.Checksum
	var bad error
	sum.hi, bad = strconv.ParseUint(text[:half], 16, 64)
	sum.lo, err = strconv.ParseUint(text[half:], 16, 64)
	return sum, errors.Join(bad, err)
}

// Precedes reports whether the records of next may follow the records of s. If unique is set, the
// last key of s and the first key of next must differ.
func (s *Summary) Precedes(next *Summary, unique bool) bool {
	empty := s.Records == 0 || next.Records == 0
	return empty || s.LastKey < next.FirstKey ||
		!unique && s.LastKey == next.FirstKey
}

// Add adds the summary of the following records. REQUIRES: both are valid
func (s *Summary) Add(next *Summary) error {
	if s.Order != next.Order {
		return fmt.Errorf(
			"its order is %s, but that of the others is %s",
			next.Order,
			s.Order,
		)
	}
	sum, _ := s.sum()
	more, _ := next.sum()
	sum.Merge(more)
	s.Checksum = sum.String()
	s.Duplicates += next.Duplicates

	switch {
	case next.Records == 0:
		return nil
	case s.Records == 0:
		s.FirstKey = next.FirstKey
		s.First = next.First
	case s.LastKey == next.FirstKey:
		s.Duplicates++
	}

	s.LastKey = next.LastKey
	s.Last = next.Last
	s.Records += next.Records
	return nil
}
