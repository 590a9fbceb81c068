//go:build unix

package spill

import "os"

// createAndRemove creates a file that only this user may open, and removes its name at once.
func createAndRemove(folder string) (*os.File, error) {
	f, err := os.CreateTemp(folder, "extsort-") // with mode 0600
	if err == nil {
		os.Remove(f.Name())
	}
	return f, err
}
