package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/internal/option"
)

// A group contains the flags below one heading of the help. The name of the set is the heading.
type group struct{ flags *pflag.FlagSet }

func newGroup(title string) group {
	g := group{pflag.NewFlagSet(title, pflag.ContinueOnError)}
	g.flags.SortFlags = false
	return g
}

// add defines a flag. name may end in a comma and a letter. If the usage contains "; otherwise",
// the help shows the text after it as the default. If not, the default is the current value of v.
// The help lists the possible values after the usage.
func (g group) add(v pflag.Value, name, usage string) definition {
	name, letter, _ := strings.Cut(name, ",")
	usage, otherwise, _ := strings.Cut(usage, "; otherwise ")
	f := g.flags.VarPF(v, name, letter, usage)
	// DefValue is only shown in the help. The variable already has its default.
	f.DefValue = cmp.Or(otherwise, v.String())
	words := choices(f)
	if len(words) > 0 {
		f.Usage += ": " + inWords(words)
	}
	return definition{f}
}

// bool defines a flag without a value.
func (g group) bool(to *bool, name, usage string) definition {
	name, letter, _ := strings.Cut(name, ",")
	g.flags.BoolVarP(to, name, letter, false, usage)
	return definition{g.flags.Lookup(name)}
}

// A definition is a flag with annotations. The parser, help, manual pages, completion,
// docs/cli.md, hints and messages all use them.
type definition struct{ *pflag.Flag }

// The annotations of a flag.
const (
	groupTitle    = "group"
	optionField   = "field"
	otherNames    = "hints"
	refusedWith   = "not with"
	neededFlag    = "needs"
	impliedFlag   = "implies"
	reasonNotIn   = "not in " // and a verb
	offeredValues = "offered"
)

func (d definition) annotate(key string, values ...string) definition {
	if d.Annotations == nil {
		d.Annotations = map[string][]string{}
	}
	d.Annotations[key] = values
	return d
}

// sets names the library options that the flag sets. Messages of the library then name the flag.
func (d definition) sets(fields ...option.Field) definition {
	var names []string
	for _, f := range fields {
		names = append(names, string(f))
	}
	return d.annotate(optionField, names...)
}

// hints lists the names of the flag in other tools, so that a user who types one of them finds
// the flag.
func (d definition) hints(names ...string) definition {
	return d.annotate(otherNames, names...)
}

// notWith lists flags that cannot be combined with this flag. They are written in their usual form,
// -c or --join, or as -c=quiet for one value of a flag.
func (d definition) notWith(others ...string) definition {
	return d.annotate(refusedWith, others...)
}

// needs names another flag that is required for this flag to have an effect.
func (d definition) needs(other string) definition {
	return d.annotate(neededFlag, other)
}

// implies names a flag that this flag includes. The notWith list of that flag then also applies to
// this flag.
func (d definition) implies(other string) definition {
	return d.annotate(impliedFlag, other)
}

// offers lists values for the completion of a flag that also accepts other values.
func (d definition) offers(values ...string) definition {
	return d.annotate(offeredValues, values...)
}

// notIn gives the reason why a verb does not have the flag. A user who tries it there sees the
// reason.
func (d definition) notIn(verb, reason string) definition {
	return d.annotate(reasonNotIn+verb, reason)
}

// directory completes the value as the name of a directory.
func (d definition) directory() definition {
	return d.annotate(cobra.BashCompSubdirsInDir)
}

// typedName returns the usual form of a flag: -o, --limit.
func typedName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// conflicts returns an error for each flag of a command line that conflicts with another flag or
// lacks a flag that it needs.
func conflicts(flags *pflag.FlagSet) (faults []error) {
	given := givenFlags(flags)
	flags.Visit(func(f *pflag.Flag) {
		for _, other := range f.Annotations[refusedWith] {
			if given[other] {
				faults = append(
					faults,
					fmt.Errorf(
						"%s does not apply to %s: leave it out",
						typedName(f),
						other,
					),
				)
				return
			}
		}
		for _, other := range f.Annotations[neededFlag] {
			if !given[other] {
				faults = append(
					faults,
					fmt.Errorf("%s only works with %s", typedName(f), other),
				)
			}
		}
	})
	return faults
}

// givenFlags returns the flags of a command line in the form that notWith expects.
func givenFlags(flags *pflag.FlagSet) map[string]bool {
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) {
		name := typedName(f)
		given[name] = true
		given[name+"="+f.Value.String()] = true
		for _, other := range f.Annotations[impliedFlag] {
			given[other] = true
		}
	})
	return given
}
