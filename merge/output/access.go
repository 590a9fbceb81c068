package output

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"reflect"
)

// access is who may do what with a file: what a file that is replaced allows, the one that takes its place allows as
// well, as far as it can, and never more.
type access struct {
	mode     fs.FileMode // permissions; with an ACL those of the group are its mask
	uid, gid int         // -1: the system has none
	acl      []byte      // of POSIX, as Linux has it in an extended attribute; nil: there is none
}

// KeepAccess gives a file the access to the regular file that it is about to replace, or less of it. Where there is no
// such file, or both allow the same, it does nothing.
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
	return errors.Join(want.giveTo(file), file.Close())
}

// lowered is the mode for a file that cannot have all of that: nobody gets by it what access denied. Whoever was in one
// class may be in another now, that of the group or of others.
func (a *access) lowered(keepsOwner, keepsGroup, keepsACL bool) fs.FileMode {
	user, group, other := a.mode>>6&7, a.mode>>3&7, a.mode&7
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

// aclEntries are permissions that an ACL gives.
type aclEntries struct {
	group fs.FileMode // to the group of the file
	named fs.FileMode // to each of the users and groups that it names: the bits that all of them have
}

// The tags of an ACL's entries. Behind 4 bytes with its version, it has 8 bytes for each: the tag and permissions, of 2
// bytes, and who it is for.
const (
	aclHeader = 4
	aclEntry  = 8

	aclNamedUser  = 0x02
	aclGroup      = 0x04
	aclNamedGroup = 0x08
	aclMask       = 0x10
)

// parseACL reads an ACL. One that has another form gives nothing.
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
