//go:build !linux

package output

import (
	"errors"
	"os"
)

// readACL returns nil. On systems other than Linux, the group bits of a mode are not the mask of
// an ACL.
func readACL(string) []byte { return nil }

func writeACL(*os.File, []byte) error { return errors.ErrUnsupported }

func removeACL(*os.File) error { return nil }
