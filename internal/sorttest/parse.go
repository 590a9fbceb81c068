package sorttest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// parseRows returns the rows of a file, and the text after the last one. Errors start with the
// line.
func parseRows(text string) (rows []*row, end string, err error) {
	r := &row{}
	inOutcome := false
	number := 0
	for line := range strings.Lines(text) {
		number++
		blank := strings.TrimSpace(line) == ""
		switch {
		case inOutcome && !blank:
			r.want += line
		case inOutcome:
			rows = append(rows, r)
			r = &row{comment: line}
			inOutcome = false
		case strings.TrimSpace(line) == separator:
			if err := r.parse(); err != nil {
				return nil, "", fmt.Errorf("%d: %w", r.line, err)
			}
			inOutcome = true
		case r.text == "" && (blank || strings.HasPrefix(line, "#")):
			r.comment += line
		default:
			if r.text == "" {
				r.line = number
			}
			r.text += line
		}
	}
	if inOutcome {
		return append(rows, r), "", nil
	}
	if r.text != "" {
		return nil, "", fmt.Errorf("%d: no %s follows", r.line, separator)
	}
	return rows, r.comment, nil
}

// parse parses the text of a row: a command and its settings, and lines that start with "not" or
// "refused".
func (r *row) parse() error {
	var axes []Axis
	var contradictions, refusals []Contradiction
	r.show = []string{"strategy"}
	for line := range strings.Lines(r.text) {
		words := strings.Fields(line)
		if len(words) == 3 && (words[0] == "not" || words[0] == "refused") {
			rule := Contradiction{words[1], words[2]}
			contradictions = append(contradictions, rule)
			if words[0] == "refused" {
				refusals = append(refusals, rule)
			}
			continue
		}
		if r.command == "" {
			r.command = words[0]
			words = words[1:]
		}
		for _, word := range words {
			axis, err := r.setting(word, axes)
			if err != nil {
				return err
			}
			axes = append(axes, axis...)
		}
	}
	if !slices.Contains([]string{"sort", "pairs"}, r.command) {
		return fmt.Errorf("there is no command %q: use sort or pairs", r.command)
	}
	var err, refusalErr error
	r.crossing, err = NewCrossing(axes, contradictions)
	r.refusals, refusalErr = NewCrossing(axes, refusals)
	return cmp.Or(err, refusalErr)
}

// setting returns the axis that a word such as "name=value,value" sets. If the word does not set an
// axis of the sort but an option of the row, setting stores the option in t. The value of a word
// without "=" is yes.
func (t *task) setting(word string, before []Axis) ([]Axis, error) {
	name, value, hasValue := strings.Cut(word, "=")
	if !hasValue {
		value = "yes"
	}
	values := strings.Split(value, ",")
	switch name {
	case "show":
		t.show = values
		return nil, nil
	case "cross":
		t.cross = values
		return nil, nil
	}
	if slices.ContainsFunc(before, func(a Axis) bool { return a.Name == name }) {
		return nil, fmt.Errorf("%s is set twice", name)
	}
	return []Axis{{name, values}}, checkSetting(name)
}
