package main

import (
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// shellLine returns a command line that a user can copy into a shell.
func shellLine(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellWord(word)
	}
	return strings.Join(quoted, " ")
}

// shellWord quotes a word if a shell would interpret it. It escapes control characters, which
// must not reach a terminal, in the form that bash, zsh and other shells accept: $'a\nb'.
func shellWord(word string) string {
	if printable(word) == word {
		return shellescape.Quote(word)
	}
	escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(word)
	return "$'" + printable(escaped) + "'"
}
