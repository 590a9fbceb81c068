package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// oddNames are prefixes of file names that some programs interpret in a special way.
var oddNames = []string{
	"with blanks ", "two\nlines", "\xff\xfe\x80", "Options.Sink", "Record.Type.bin", "'quoted\"", "%s%d", "*", "$HOME",
	strings.Repeat("ü", 110),
}

// chooseNames sometimes gives files and their directory odd names.
func chooseNames(s *scenario, r *rand.Rand) {
	if r.IntN(4) > 0 {
		return
	}
	s.dashed = r.IntN(2) == 0
	for i := range s.inputs {
		s.inputs[i].prefix = oddNames[r.IntN(len(oddNames))]
	}
	s.output.prefix = oddNames[r.IntN(len(oddNames))]
}

// dataFolder returns the directory of the inputs. If it is "", their names can begin with a dash.
func dataFolder(s *scenario) string {
	if s.dashed {
		return "-data"
	}
	return "data"
}

// foreignHeaders are sizes of array headers written by other programs.
var foreignHeaders = []int{80, 96, 128, 1024}

// chooseHeaders chooses arrays whose headers differ from those that extsort writes, and files with
// foreign bytes before the records.
func chooseHeaders(s *scenario, r *rand.Rand) {
	for i := range s.inputs {
		if s.layout.container != nil && s.layout.container.isPadded &&
			r.IntN(2) == 0 {
			s.inputs[i].header = foreignHeaders[r.IntN(len(foreignHeaders))]
		}
	}
	if s.verb == "check" || r.IntN(8) > 0 {
		return
	}
	skip := 1 + skewed(r, 0, 3000)
	for i := range s.inputs {
		s.inputs[i].before = append([]byte{'h'}, randomBytes(r, skip-1)...)
	}
	s.flags = append(s.flags, "--skip-bytes", fmt.Sprint(skip))
	if s.keptHeader = !strings.HasPrefix(s.form, "argsort") &&
		r.IntN(2) == 0; s.keptHeader {
		s.flags = append(s.flags, "--keep-header")
	}
}

// chooseTails puts foreign bytes after the records.
func chooseTails(s *scenario, r *rand.Rand) {
	if s.verb == "check" || r.IntN(8) > 0 {
		return
	}
	tail := 1 + skewed(r, 0, 3000)
	for i := range s.inputs {
		s.inputs[i].after = append([]byte{0}, randomBytes(r, tail-1)...)
	}
	records := len(s.inputs[0].records) / s.layout.size
	hasCount := s.layout.container != nil // the header contains the number of records
	isCounted := len(s.inputs) == 1 && records > 0 && !hasCount &&
		r.IntN(2) == 0
	if isCounted {
		s.flags = append(s.flags, "--records", fmt.Sprint(records))
	}
	if !isCounted || r.IntN(2) == 0 {
		s.flags = append(s.flags, "--skip-tail", fmt.Sprint(tail))
	}
	if !s.keptHeader && !strings.HasPrefix(s.form, "argsort") &&
		s.inputs[0].before == nil &&
		r.IntN(2) == 0 {
		s.keptHeader = true
		s.flags = append(s.flags, "--keep-header")
	}
}

// fileOf returns the uncompressed content of an input file.
func fileOf(s *scenario, in input) []byte {
	header := s.layout.header(len(in.records) / s.layout.size)
	foreign := paddedNpyHeader(header, in.header)
	if foreign != nil {
		header = foreign
	}
	return slices.Concat(in.before, header, in.records, in.after)
}

// paddedNpyHeader returns an array's header with padding to the given size, or nil if it does not
// fit.
func paddedNpyHeader(header []byte, size int) []byte {
	const prefix = 10 // magic, version and length
	if size == 0 || len(header) < prefix {
		return nil
	}
	text := bytes.TrimRight(header[prefix:], " \n")
	padding := size - prefix - len(text) - 1
	if padding < 0 {
		return nil
	}
	padded := binary.LittleEndian.AppendUint16(
		slices.Clone(header[:prefix-2]), uint16(size-prefix),
	)
	return append(
		append(append(padded, text...), bytes.Repeat([]byte{' '}, padding)...),
		'\n',
	)
}

// chooseForm sometimes chooses an output that does not consist of the records.
func chooseForm(s *scenario, r *rand.Rand) {
	if s.verb == "check" || s.faulty || r.IntN(3) > 0 {
		return
	}
	if s.layout.container == nil && r.IntN(2) == 0 {
		chooseAggregates(s, r)
		return
	}
	if s.verb != "sort" {
		return
	}
	switch choice := r.IntN(3); {
	case choice == 0:
		s.form = []string{"argsort u32", "argsort u64"}[r.IntN(2)]
		s.flags = append(
			s.flags, "--argsort", strings.TrimPrefix(s.form, "argsort "),
		)
		s.flags = slices.DeleteFunc(s.flags, func(flag string) bool {
			return flag == "--verify"
		})
	case choice == 1 && s.unique && s.layout.container == nil:
		s.form = "count"
		s.flags = append(s.flags, "--count")
	case !s.unique:
		s.form = "duplicates"
		s.flags = append(s.flags, "--duplicates")
	}
}

// indexBytes is the size of the index that is added to each record for argsort, so that it moves
// with the record.
const indexBytes = 8

// withIndexes adds its index to each record.
func withIndexes(records []byte, size int) (all []byte) {
	for i := 0; i*size < len(records); i++ {
		all = append(all, records[i*size:(i+1)*size]...)
		all = binary.LittleEndian.AppendUint64(all, uint64(i))
	}
	return all
}

// inForm returns the output for sorted records. For argsort, the records must come from
// withIndexes.
func inForm(s *scenario, o oracle, sorted []byte) []byte {
	var out []byte
	count := 0
	for from := 0; from < len(sorted); {
		to := from + o.size
		if s.unique || s.form == "duplicates" {
			for to < len(sorted) &&
				compareKeys(
					o.fields, sorted[from:from+o.size], sorted[to:to+o.size],
				) == 0 {
				to += o.size
			}
		}
		n := (to - from) / o.size
		group := sorted[from:to]
		record := group[:o.size]
		from = to
		switch s.form {
		case "aggregate":
			out = append(out, s.aggregated.combined(slices.Collect(slices.Chunk(group, o.size)))...)
		case "duplicates":
			if n < 2 {
				continue
			}
			out = append(out, record...)
		case "count":
			out = binary.LittleEndian.AppendUint64(
				append(out, record...), uint64(n),
			)
		case "argsort u32":
			out = append(out, record[o.size-indexBytes:o.size-4]...)
		case "argsort u64":
			out = append(out, record[o.size-indexBytes:]...)
		}
		if count++; count == s.limit {
			break
		}
	}
	return out
}

// expectedForm returns the expected output if it does not consist of the records.
func expectedForm(s *scenario) []byte {
	o := s.order()
	records := s.records()
	isIndex := strings.HasPrefix(s.form, "argsort")
	if isIndex {
		records = withIndexes(records, o.size)
		o.size += indexBytes
	}
	out := inForm(s, o, o.sorted(records))
	if isIndex || s.form == "count" || s.form == "aggregate" {
		return out
	}
	return s.layout.encode(out)
}
