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

// shellWord quotes a word if a shell would read it as something else. Control characters, which must not reach a
// terminal, are escaped as bash, zsh and other shells read them: $'a\nb'.
func shellWord(word string) string {
	if printable(word) == word {
		return shellescape.Quote(word)
	}
	escaped := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(word)
	return "$'" + printable(escaped) + "'"
}
