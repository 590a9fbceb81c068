package main

import (
	"cmp"
	"sync"

	"github.com/spf13/pflag"

	"github.com/extsort/extsort/internal/option"
)

// Messages of the library name its options. In the command, they must name flags instead.
func init() { option.Rename(flagFor) }

// flagFor returns the flag that sets an option: --spill-compress for Options.SpillCompress. It
// returns other texts unchanged.
func flagFor(f option.Field) string {
	return cmp.Or(flagsOfOptions()[f], string(f))
}

// flagsOfOptions returns the flag of each option that a flag of the sort sets.
var flagsOfOptions = sync.OnceValue(func() map[option.Field]string {
	flags := map[option.Field]string{}
	(&app{}).sortCommand().Flags().VisitAll(func(f *pflag.Flag) {
		for _, name := range f.Annotations[optionField] {
			flags[option.Field(name)] = typedName(f)
		}
	})
	return flags
})
