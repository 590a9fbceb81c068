package input

import "fmt"

// noArchive returns the error for an archive that can only be read sequentially.
func noArchive(shown string) error {
	return fmt.Errorf(
		"%s: an archive in a pipe or a compressed file cannot be read: write it to a plain "+
			"file first",
		shown,
	)
}
