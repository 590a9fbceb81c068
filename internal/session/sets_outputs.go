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
			if err := checkOverwrites(&to, side.options()); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkOverwrites returns an error if the output would overwrite an input of other options.
func checkOverwrites(to *Options, from Options) error {
	out, inPlace, err := existingOutput(to)
	if err != nil || !inPlace {
		return nil // the output is a new file
	}
	for _, source := range from.sources() {
		in, err := source.Stat(from.Stdin)
		if err == nil && input.SameContent(out, in) {
			return overwrittenError(shownName(source))
		}
	}
	return nil
}
