package main

import (
	"slices"

	"github.com/spf13/pflag"
)

// command returns a shell command that runs the planned sort. It consists of the flags of the plan
// and the assumed output. FILE represents an input that does not exist yet.
func (f *planFlags) command(
	flags *pflag.FlagSet, args, files []string, assumedOutput bool,
) (string, error) {
	withoutFile := f.assumed.records+f.assumed.bytes > 0
	words := []string{"extsort"}
	err := flags.ParseAll(args, func(flag *pflag.Flag, value string) error {
		switch {
		case slices.Contains([]string{"explain", "size"}, flag.Name), withoutFile &&
			flag.Name == "records":
		case flag.NoOptDefVal != "" && value == flag.NoOptDefVal:
			words = append(words, flagWord(flag))
		// -n is a flag of the plan only.
		case flag.NoOptDefVal != "" || flag.Shorthand == "" ||
			flag.Name == "records":
			words = append(words, "--"+flag.Name+"="+value)
		default:
			words = append(words, "-"+flag.Shorthand, value)
		}
		return nil
	})
	if assumedOutput {
		words = append(words, "-o", f.opt.Output)
	}
	switch {
	case withoutFile:
		words = append(words, "FILE")
	case f.names.file == "":
		words = append(words, files...)
	}
	return shellLine(words...), err
}

// flagWord returns a flag without its value: its letter, if it has one, or its name.
func flagWord(flag *pflag.Flag) string {
	if flag.Shorthand != "" {
		return "-" + flag.Shorthand
	}
	return "--" + flag.Name
}
