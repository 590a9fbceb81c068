//go:build unix

package output

import (
	"io/fs"
	"os"
	"syscall"
)

// accessOf returns the access to a file.
func accessOf(name string, info fs.FileInfo) access {
	a := access{
		explicit: true,
		mode:     info.Mode().Perm(),
		uid:      -1,
		gid:      -1,
		acl:      readACL(name),
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		a.uid = int(stat.Uid)
		a.gid = int(stat.Gid)
	}

	return a
}

// applyTo sets the owner, group, mode and ACL of a new output, as far as this process may. It
// sets the owner last, because changing the mode of another user's file requires a privilege.
func (a *access) applyTo(f *os.File) error {
	keepsGroup := a.gid < 0 || f.Chown(-1, a.gid) == nil
	if err := a.setPermissions(f, true, keepsGroup); err != nil {
		return err
	}
	if a.uid < 0 || f.Chown(a.uid, -1) == nil {
		return nil
	}
	return a.setPermissions(f, false, keepsGroup)
}

// setPermissions sets the mode and the ACL of a file, depending on whether it keeps the owner and
// the group.
func (a *access) setPermissions(f *os.File, keepsOwner, keepsGroup bool) error {
	mayKeepACL := a.acl != nil && keepsOwner && keepsGroup
	if mayKeepACL && writeACL(f, a.acl) == nil {
		return f.Chmod(a.mode) // no change if the ACL has a mask
	}
	// an ACL inherited from the directory, whose mask the mode would change
	if err := removeACL(f); err != nil {
		return err
	}
	return f.Chmod(a.reducedMode(keepsOwner, keepsGroup, false))
}
