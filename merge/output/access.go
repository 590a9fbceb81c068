package output

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"reflect"
)

// access describes the permissions of a file. A new file that replaces an existing one gets the
// same access as far as possible, and never more.
type access struct {
	explicit bool        // set this access; otherwise the file keeps the access of a new file
	mode     fs.FileMode // permission bits; with an ACL, the group bits are its mask
	uid, gid int         // -1 if the system has none
	// a POSIX ACL in the form of Linux's extended attribute; nil if none exists
	acl []byte
}

// KeepAccess gives the file name the access of the regular file that it is about to replace, or
// less. If replaced does not exist, or if both already have the same access, it does nothing.
func KeepAccess(name, replaced string) error {
	before, err := os.Stat(replaced)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !before.Mode().IsRegular() {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := os.Stat(name)
	if err != nil {
		return err
	}
	want := accessOf(replaced, before)
	if reflect.DeepEqual(want, accessOf(name, now)) {
		return nil
	}
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(want.applyTo(file), file.Close())
}

// applyIn sets the access of a file, unless the file keeps that of a new file.
func (a *access) applyIn(ops operations, f *os.File) error {
	if !a.explicit {
		return nil
	}
	return ops.perform("set mode of output", func() error { return a.applyTo(f) })
}

// reducedMode returns the mode for a file that cannot keep the whole access. The mode never grants
// a user a permission that the original access denied, even if the user is now in a different
// class, such as group or others.
func (a *access) reducedMode(keepsOwner, keepsGroup, keepsACL bool) fs.FileMode {
	user := a.mode >> 6 & 7
	group := a.mode >> 3 & 7
	other := a.mode & 7

	if a.acl != nil && !keepsACL {
		entries := parseACL(a.acl)
		group &= entries.group
		group &= entries.named
		other &= entries.named
	}

	if !keepsGroup {
		group &= other
		other &= group
	}

	if !keepsOwner {
		group &= user
		other &= user
	}

	return user<<6 | group<<3 | other
}

// aclEntries holds the permissions that an ACL grants.
type aclEntries struct {
	group fs.FileMode // granted to the group of the file
	named fs.FileMode // granted to every named user and group: the bits that all of them have
}

// Tags of the entries of an ACL. An ACL consists of 4 bytes with its version and 8 bytes per
// entry: a 2-byte tag, 2 bytes of permissions, and the ID that the entry applies to.
const (
	aclHeader = 4
	aclEntry  = 8

	aclNamedUser  = 0x02
	aclGroup      = 0x04
	aclNamedGroup = 0x08
	aclMask       = 0x10
)

// parseACL parses an ACL. An ACL of an unknown form grants nothing.
func parseACL(acl []byte) (e aclEntries) {
	if len(acl) < aclHeader || (len(acl)-aclHeader)%aclEntry != 0 {
		return aclEntries{}
	}
	e.named = 7
	mask := fs.FileMode(7)
	for at := aclHeader; at < len(acl); at += aclEntry {
		allowed := fs.FileMode(binary.LittleEndian.Uint16(acl[at+2:])) & 7
		switch binary.LittleEndian.Uint16(acl[at:]) {
		case aclGroup:
			e.group = allowed
		case aclNamedUser, aclNamedGroup:
			e.named &= allowed
		case aclMask:
			mask = allowed
		}
	}

	return aclEntries{group: e.group & mask, named: e.named & mask}
}
