package engine

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/chunker/input"
)

// framed returns the input whose header and trailing bytes the output keeps, or nil.
func (o *Output) framed() *input.Input {
	if first := o.run.Input.Files[0]; first.KeepsFrame() && !o.form.isBare() {
		return first
	}
	return nil
}

// tail returns the bytes after the records of the first input, if they are kept.
func (o *Output) tail() ([]byte, error) {
	first := o.framed()
	if first == nil {
		return nil, nil
	}
	tail, known := first.KeptTail()
	if !known {
		return nil, fmt.Errorf(
			"%s: the bytes after its records are unknown, because it was not read to its end; "+
				"the output is discarded",
			first.Name,
		)
	}
	return tail, nil
}

// checkTail returns an error if the output needs the tail of a stream before the stream ends.
// stopsEarly means that the stream is not read to its end. compressedSet means that several files
// are completed one after another.
func (o *Output) checkTail(stopsEarly, compressedSet bool) error {
	first := o.framed()
	if first == nil || !stopsEarly && !compressedSet {
		return nil
	}
	if _, known := first.KeptTail(); known {
		return nil
	}
	return fmt.Errorf(
		"%s: the bytes after its records are read too late for this output: write it to a plain "+
			"file first",
		first.Name,
	)
}

// warnOfFrame warns if the kept header does not fit the records of the output.
func (r *Run) warnOfFrame() {
	first := r.Output.framed()
	if first == nil {
		return
	}
	had := first.WholeRecords()
	hadSize := first.Header.Layout().RecordSize
	has := r.Output.Records()
	hasSize := r.Output.Size

	switch {
	case hadSize != hasSize:
		r.Warn(
			fmt.Sprintf(
				"the kept header of %s is no longer right: it was made for records of %s, but "+
					"those of the output have %d",
				first.Name, english.Plural(hadSize, "byte", ""), hasSize,
			),
		)
	case first.CanCount(): // the output updates the count
	case r.Output.sink.Files != nil && r.Output.sink.Files() > 1:
		r.Warn(
			fmt.Sprintf(
				"the kept header of %s may no longer be right: each file of the output has fewer records",
				first.Name,
			),
		)
	case had != has:
		r.Warn(
			fmt.Sprintf(
				"the kept header of %s may no longer be right: it was made for %s records, and "+
					"the output "+
					"has %s",
				first.Name, counted(had), humanize.Comma(has),
			),
		)
	}
}

// counted formats a number of records. A negative number means that it is not known.
func counted(records int64) string {
	if records < 0 {
		return "more"
	}
	return humanize.Comma(records)
}
