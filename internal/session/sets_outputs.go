package session

import (
	"fmt"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/internal/filename"
)

// checkOutputs returns an error if two outputs are the same file, or if an output would overwrite
// an input. It must run before the inputs are replaced with streams of sorted records.
func (opt *SetOptions) checkOutputs() error {
	outputs := []string{opt.Inputs.Output}
	for _, name := range []string{opt.OnlyA, opt.OnlyB, opt.Both} {
		if name == "" {
			continue
		}
		for _, other := range outputs[1:] {
			if name == other || filename.SameFile(name, other) {
				return fmt.Errorf("%s: two outputs cannot be the same file", name)
			}
		}
		outputs = append(outputs, name)
	}

	sides := []*MergeOptions{&opt.Inputs}
	if opt.Right != nil {
		sides = append(sides, opt.Right)
	}
	for _, name := range outputs {
		to := opt.Inputs.options()
		to.Output = name
		for _, side := range sides {
			if err := checkOverwrites(&to, side.options(), len(outputs) > 2); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkOverwrites returns an error if the output would overwrite an input of other options. If there
// are several outputs, a crash may leave only some of them, so none may replace an input: the same
// operation would then read inputs of before and after.
func checkOverwrites(to *Options, from Options, several bool) error {
	out, inPlace, err := existingOutput(to)
	if err != nil || !inPlace && !several {
		return nil // the output is a new file
	}
	for _, source := range from.sources() {
		in, err := source.Stat(from.Stdin)
		switch {
		case err != nil || !input.SameContent(out, in):
		case !inPlace:
			return fmt.Errorf("%s: is both an input and one of several outputs, and a crash could replace only some "+
				"of them: name another output", shownName(source))
		default:
			return overwrittenError(shownName(source))
		}
	}
	return nil
}
