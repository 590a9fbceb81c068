package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/info"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestJSONPageNamesAllFields checks that docs/json.md names each field of the reports.
func TestJSONPageNamesAllFields(t *testing.T) {
	page := testfiles.Read(t, "../../docs/json.md")
	sections := map[string]string{}
	for section := range strings.SplitSeq(string(page), "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = text
	}

	for title, kinds := range map[string][]reflect.Type{
		"Sort and merge": {
			reflect.TypeFor[session.Report](), reflect.TypeFor[session.Detail](), reflect.TypeFor[session.Phase](),
			reflect.TypeFor[session.Change](),
		},
		"Check":                          {reflect.TypeFor[session.CheckReport]()},
		"Plan":                           {reflect.TypeFor[session.SortPlan]()},
		"Info, one object for each file": {reflect.TypeFor[info.Report]()},
	} {
		for _, kind := range kinds {
			for _, field := range jsonFields(kind) {
				if !strings.Contains(sections[title], "`"+field+"`") {
					t.Errorf("docs/json.md, %s: %s is missing (of %v)", title, field, kind)
				}
			}
		}
	}
}

// jsonFields returns the JSON names of the fields of a struct and of its embedded structs.
func jsonFields(kind reflect.Type) []string {
	var names []string
	for field := range kind.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			names = append(names, jsonFields(field.Type)...)
		case name != "" && name != "-":
			names = append(names, name)
		}
	}
	return names
}
