package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// addGroups gives a command its flags and remembers their groups for the help.
func addGroups(cmd *cobra.Command, groups ...group) {
	cmd.Flags().SortFlags = false
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) {
			definition{f}.annotate(groupTitle, g.flags.Name())
		})
		cmd.Flags().AddFlagSet(g.flags)
	}
	offerValues(cmd)
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		showHelp(cmd, args, groups)
	})
	cmd.SetFlagErrorFunc(explainFlagError)
}

// offerValues registers the values of flags for shell completion.
func offerValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		words := slices.Concat(choices(f), f.Annotations[offeredValues])
		if len(words) > 0 {
			// An error would mean a second registration, which is impossible, because flag names
			// are unique.
			_ = cmd.RegisterFlagCompletionFunc(f.Name,
				cobra.FixedCompletions(
					words, cobra.ShellCompDirectiveNoFileComp,
				))
		}
	})
}

// hideConflicts prevents completion from offering flags that conflict with flags already on the
// command line. Cobra's own check for conflicts is not used, because its message is not a single
// helpful line.
func hideConflicts(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for _, other := range f.Annotations[refusedWith] {
			conflicting := flagTyped(cmd.Flags(), other)
			if conflicting != nil {
				cmd.MarkFlagsMutuallyExclusive(f.Name, conflicting.Name)
			}
		}
	})
	for _, below := range cmd.Commands() {
		hideConflicts(below)
	}
}

// flagTyped returns the flag with this usual form (-o, --limit), or nil.
func flagTyped(flags *pflag.FlagSet, name string) *pflag.Flag {
	long, ok := strings.CutPrefix(name, "--")
	if ok {
		return flags.Lookup(long)
	}
	letter := strings.TrimPrefix(name, "-")
	if len(letter) == 1 {
		return flags.ShorthandLookup(letter)
	}
	return nil
}

// explainFlagError converts an error of pflag to one helpful line.
func explainFlagError(cmd *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f := missing.GetFlag()
		return fmt.Errorf(
			"%s needs a value: --%s %s", flagName(f), f.Name, f.Value.Type(),
		)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf(
			"%s: %w", flagName(invalid.GetFlag()), invalid.Unwrap(),
		)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, unknown)
	}
	return err
}

// flagName returns the letter of a flag, if it has one, and its long name.
func flagName(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return "-" + f.Shorthand + ", --" + f.Name
}
