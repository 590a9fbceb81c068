package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// A mistake is corrected if its meaning is certain. Otherwise the error asks "did you mean …?". The
// files that use these functions are type_hints.go, unknown_flags.go and mistaken_verbs.go.

// nearestWord returns the first word for which the given one is an abbreviation or a misspelling,
// or "".
func nearestWord(word string, words []string) string {
	if all := allNearest(word, words); len(all) > 0 {
		return all[0]
	}
	return ""
}

// allNearest returns the words for which the given one is an abbreviation or a misspelling, if
// several are equally similar. It measures similarity as cobra does for commands. In a short word,
// only a few letters may differ.
func allNearest(word string, words []string) []string {
	for i := 1; i < len(word) && len(word) > 2; i++ { // two letters swapped
		swapped := word[:i-1] + word[i:i+1] + word[i-1:i] + word[i+1:]
		if slices.Contains(words, swapped) && swapped != word {
			return []string{swapped}
		}
	}
	var known cobra.Command
	for _, w := range words {
		known.AddCommand(&cobra.Command{
			Use: w,
			Run: func(*cobra.Command, []string) {},
		})
	}
	for distance := range 3 {
		known.SuggestionsMinimumDistance = distance
		if near := known.SuggestionsFor(word); 2*distance < len(word) &&
			len(word) > 1 &&
			len(near) > 0 {
			return near
		}
	}
	return nil
}
