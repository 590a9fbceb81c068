package main

import (
	"cmp"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
)

// Messages of the library name its options. Here they name flags.
func init() { option.Rename(flagFor) }

// flagOf has the flags of options whose name is not that of the option.
var flagOf = map[option.Field]string{
	option.MemoryBytes: "-S",
	option.Output:      "-o",
	option.TempDirs:    "-T",
	option.Unique:      "-u",
	option.Workers:     "--parallel",

	option.Format:     "-f",
	option.Keys:       "-k",
	option.NaN:        "--nan",
	option.RecordSize: "-R",
	option.Type:       "-t",

	"Options.Devices": "-d",
}

// flagFor returns the flag of an option: --spill-compress for Options.SpillCompress. Any other text stays as it is.
func flagFor(f option.Field) string {
	if !optionNames()[f] {
		return string(f)
	}
	_, name, _ := strings.Cut(string(f), ".")
	return cmp.Or(flagOf[f], "--"+strings.ToLower(betweenWords().ReplaceAllString(name, "$1-$2")))
}

var betweenWords = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("([a-z])([A-Z])") })

// optionNames returns the names of all options.
var optionNames = sync.OnceValue(func() map[option.Field]bool {
	names := map[option.Field]bool{}
	kinds := map[string]reflect.Type{
		"Options.": reflect.TypeFor[extsort.Options](),
		"Record.":  reflect.TypeFor[format.Spec](),
	}
	for prefix, kind := range kinds {
		for _, field := range reflect.VisibleFields(kind) {
			names[option.Field(prefix+field.Name)] = true
		}
	}
	return names
})
