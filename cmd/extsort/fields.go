package main

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/format"
)

// flagOf are the flags of fields of the library that have another name than these.
var flagOf = map[string]string{
	"Options.Devices": "-d", "Options.MemoryBytes": "-S", "Options.Output": "-o", "Options.TempDirs": "-T",
	"Options.Unique": "-u", "Options.Workers": "--parallel",
	"Record.Format": "-f", "Record.Keys": "-k", "Record.NaN": "--nan", "Record.RecordSize": "-R", "Record.Type": "-t",
}

// flagFor is the flag of a field: of SpillCompress --spill-compress.
func flagFor(field string) string {
	_, name, _ := strings.Cut(field, ".")
	return cmp.Or(flagOf[field], "--"+strings.ToLower(betweenWords().ReplaceAllString(name, "$1-$2")))
}

var betweenWords = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("([a-z])([A-Z])") })

// fieldsToFlags puts messages of the library into the words of whoever types flags. Most runs have none.
var fieldsToFlags = sync.OnceValue(func() *strings.Replacer {
	var names, pairs []string
	for prefix, of := range map[string]any{"Options.": extsort.Options{}, "Record.": format.Spec{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			names = append(names, prefix+field.Name)
		}
	}
	slices.Sort(names)
	for _, field := range slices.Backward(names) { // of two that begin alike the longer first
		pairs = append(pairs, field, flagFor(field))
	}
	return strings.NewReplacer(pairs...)
})
