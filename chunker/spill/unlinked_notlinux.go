//go:build unix && !linux

package spill

import "os"

func openUnlinked(folder string) (*os.File, error) { return createAndRemove(folder) }
