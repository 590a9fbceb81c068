package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// records returns all input records, in the order of the inputs.
func (s *scenario) records() []byte {
	var all []byte
	for _, in := range s.inputs {
		all = append(all, in.records...)
	}
	return all
}

// expected returns the expected uncompressed output.
func (s *scenario) expected() []byte {
	if !s.keptHeader {
		return expectedRecords(s)
	}
	return slices.Concat(
		s.inputs[0].before, expectedRecords(s), s.inputs[0].after,
	)
}

// expectedRecords returns the records of the expected output, after their own header.
func expectedRecords(s *scenario) []byte {
	if s.form != "" {
		return expectedForm(s)
	}
	records := s.records()
	if s.verb == "sort" {
		from, to := bounds(s, records)
		records = records[from:to]
	}
	records = s.order().sorted(records)
	if s.verb == "merge" {
		from, to := bounds(s, records)
		if s.parts > 0 && s.limit > 0 {
			to = min(to, s.limit*s.layout.size)
		}
		from = behindEqual(s, records, from)
		to = behindEqual(s, records, to)
		records = records[min(from, to):to]
	}
	if s.unique {
		records = s.order().unique(records)
	}
	if s.limit > 0 {
		records = records[:min(len(records), s.limit*s.layout.size)]
	}
	return s.layout.encode(records)
}

// bounds returns the byte range of the chosen part in records.
func bounds(s *scenario, records []byte) (from, to int) {
	if s.parts == 0 {
		return 0, len(records)
	}
	n := len(records) / s.layout.size
	return n * s.part / s.parts * s.layout.size, n * (s.part + 1) / s.parts * s.layout.size
}

// behindEqual moves a cut of sorted records to the end of a group of records that --unique
// reduces to one.
func behindEqual(s *scenario, records []byte, at int) int {
	size := s.layout.size
	for s.unique && at > 0 && at < len(records) &&
		compareKeys(
			s.order().fields, records[at-size:at], records[at:at+size],
		) == 0 {
		at += size
	}
	return at
}

// refusals lists the reasons for which a run may fail, by a text in the error.
var refusals = []struct {
	says string
	may  func(s *scenario) bool
}{
	{"the header needs the number of records", func(s *scenario) bool {
		return s.layout.container != nil
	}},
	{"is both an input and the output", func(s *scenario) bool {
		return s.verb == "merge" && s.output.place == "over"
	}},
	{"too late for this output", func(s *scenario) bool {
		return s.keptHeader && s.inputs[0].after != nil
	}},
	{"raise -S to", func(s *scenario) bool {
		return slices.Contains(s.flags, "-S")
	}},
}

// isRefusal reports whether the scenario may fail with this error.
func (s *scenario) isRefusal(o outcome) bool {
	if o.exit != 2 {
		return false
	}
	for _, r := range refusals {
		if bytes.Contains(o.stderr, []byte(r.says)) && r.may(s) {
			return true
		}
	}
	return false
}

// isDisordered returns the position of the first record out of order in the inputs of a merge or
// check, if there is one.
func (s *scenario) isDisordered() (at int, yes bool) {
	for _, in := range s.inputs {
		if at := s.order().disorder(in.records, s.unique &&
			s.verb == "check"); at >= 0 {
			return at, true
		}
	}
	return 0, false
}

var disorderLine = regexp.MustCompile(
	`\(byte (\d+)\) (?:is out of order|repeats the key)`,
)

// judgeCheck compares the output of -c with the oracle.
func (s *scenario) judgeCheck(o outcome) error {
	at, disordered := s.isDisordered()
	switch {
	case !disordered && o.exit == 0:
		return nil
	case !disordered || o.exit != 1:
		return fmt.Errorf(
			"the check ended with %v, and the first disorder is record %d: %t",
			o.status(),
			at,
			disordered,
		)
	}
	in := s.inputs[0]
	want := len(fileOf(s, in)) - len(in.records) - len(in.after) + at*s.layout.size
	match := disorderLine.FindSubmatch(o.stderr)
	if match == nil {
		return fmt.Errorf("the check reports no position: %s", o.stderr)
	}
	if said, err := strconv.Atoi(string(match[1])); err != nil || said != want {
		return fmt.Errorf("the check reports byte %s, not %d", match[1], want)
	}
	return nil
}
