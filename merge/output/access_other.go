//go:build !linux

package output

import (
	"errors"
	"os"
)

// readACL reads none: no other system takes the mask of an ACL for the permissions of the group.
func readACL(string) []byte { return nil }

func writeACL(*os.File, []byte) error { return errors.ErrUnsupported }

func removeACL(*os.File) error { return nil }
