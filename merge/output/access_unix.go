//go:build unix

package output

import (
	"io/fs"
	"os"
	"syscall"
)

// accessOf is that to a file.
func accessOf(name string, info fs.FileInfo) *access {
	a := &access{mode: info.Mode().Perm(), uid: -1, gid: -1, acl: readACL(name)}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		a.uid, a.gid = int(stat.Uid), int(stat.Gid)
	}
	return a
}

// giveTo gives the file of a new output the owner, the group, the mode and the ACL, as far as this process may. The
// owner comes last, since to change the mode of somebody else's file takes a right of its own.
func (a *access) giveTo(f *os.File) error {
	keepsGroup := a.gid < 0 || f.Chown(-1, a.gid) == nil
	if err := a.allow(f, true, keepsGroup); err != nil {
		return err
	}
	if a.uid < 0 || f.Chown(a.uid, -1) == nil {
		return nil
	}
	return a.allow(f, false, keepsGroup)
}

// allow sets the mode and the ACL of a file that has the owner and the group, or has not.
func (a *access) allow(f *os.File, keepsOwner, keepsGroup bool) error {
	mayKeepACL := a.acl != nil && keepsOwner && keepsGroup
	if mayKeepACL && writeACL(f, a.acl) == nil {
		return f.Chmod(a.mode) // which is the same, where an ACL has a mask
	}
	if err := removeACL(f); err != nil { // that of the folder, whose mask the mode would be
		return err
	}
	return f.Chmod(a.lowered(keepsOwner, keepsGroup, false))
}
