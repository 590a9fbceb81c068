package output

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/internal/testfiles"
)

// Tags of ACL entries that only tests create.
const (
	aclUser  = 0x01
	aclOther = 0x20
)

type aclTestEntry struct {
	tag, allowed uint16
	id           uint32
}

const nobodyID = ^uint32(0)

func makeACL(entries ...aclTestEntry) []byte {
	acl := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		acl = binary.LittleEndian.AppendUint16(acl, e.tag)
		acl = binary.LittleEndian.AppendUint16(acl, e.allowed)
		acl = binary.LittleEndian.AppendUint32(acl, e.id)
	}
	return acl
}

// oneMore is an ACL that lets a named user read and write, and denies the group and others.
var oneMore = makeACL(aclTestEntry{aclUser, 6, nobodyID}, aclTestEntry{aclNamedUser, 6, 1234},
	aclTestEntry{aclGroup, 0, nobodyID}, aclTestEntry{aclMask, 6, nobodyID}, aclTestEntry{aclOther, 0, nobodyID})

func setACL(t *testing.T, name, attribute string, acl []byte) {
	t.Helper()
	if err := unix.Setxattr(name, attribute, acl, 0); err != nil {
		t.Skipf("the file system has no ACLs: %v", err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	out, err := Open(t.Context(), name, FileOptions{})
	if err == nil {
		_, err = out.Write([]byte(text))
	}
	if err == nil {
		err = out.Commit(t.Context(), -1)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func stat(t *testing.T, name string) (fs.FileMode, *syscall.Stat_t) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode(), info.Sys().(*syscall.Stat_t)
}

// TestReplacedACL checks that a file gets the ACL of the file that it replaces. If that file has
// none, the new one has none either, even if the directory has a default ACL.
func TestReplacedACL(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	testfiles.Write(t, name, nil)
	setACL(t, name, aclAttribute, oneMore)
	write(t, name, "new")
	if got := readACL(name); !bytes.Equal(got, oneMore) {
		t.Errorf("the ACL is %x, want %x", got, oneMore)
	}
	if mode, _ := stat(t, name); mode != 0o660 { // the mask
		t.Errorf("the mode is %v", mode)
	}

	if err := errors.Join(os.Remove(name), os.WriteFile(name, nil, 0o600), os.Chmod(name, 0o640)); err != nil {
		t.Fatal(err)
	}
	setACL(t, filepath.Dir(name), "system.posix_acl_default", oneMore)
	write(t, name, "new")
	if got := readACL(name); got != nil {
		t.Errorf("the ACL is %x: the folder's", got)
	}
	if mode, _ := stat(t, name); mode != 0o640 {
		t.Errorf("the mode is %v", mode)
	}
}

// TestLoweredMode checks that a file that cannot keep its owner, group or ACL grants no permission
// that was denied before.
func TestLoweredMode(t *testing.T) {
	denies := makeACL(aclTestEntry{aclUser, 6, nobodyID}, aclTestEntry{aclNamedUser, 0, 1234},
		aclTestEntry{aclGroup, 4, nobodyID}, aclTestEntry{aclMask, 4, nobodyID}, aclTestEntry{aclOther, 4, nobodyID})
	for _, c := range []struct {
		mode                          fs.FileMode
		acl                           []byte
		keepsOwner, keepsGroup, keeps bool
		want                          fs.FileMode
	}{
		{0o644, nil, true, true, false, 0o644},
		{0o660, oneMore, true, true, true, 0o660},
		{0o660, oneMore, true, true, false, 0o600},
		{0o644, denies, true, true, false, 0o600},
		{0o660, []byte("what is this?"), true, true, false, 0o600},
		{0o664, nil, true, false, false, 0o644},
		{0o604, nil, true, false, false, 0o600}, // otherwise the former group could read it
		{0o660, nil, true, false, false, 0o600},
		{0o466, nil, false, true, false, 0o444},
		{0o640, nil, false, true, false, 0o640},
	} {
		a := &access{mode: c.mode, acl: c.acl}
		if got := a.reducedMode(c.keepsOwner, c.keepsGroup, c.keeps); got != c.want {
			t.Errorf("%v with ACL %x, owner %t, group %t, ACL %t: %v, want %v",
				c.mode, c.acl, c.keepsOwner, c.keepsGroup, c.keeps, got, c.want)
		}
	}
}

// asUserEnv is an environment variable with the name of a file, which the test then writes as an
// ordinary user.
const asUserEnv = "EXTSORT_TEST_REPLACE"

// anotherUser is the ID of the user and of the group as which asAnotherUser runs a test.
const anotherUser = 1234

// asAnotherUser makes a directory that everybody may write to. It returns a function that runs the
// test again as another user, with the name of a file in asUserEnv.
func asAnotherUser(t *testing.T) (folder string, again func(name string)) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	top, err := os.MkdirTemp("/var/tmp", "extsort-access-") // others may enter it, unlike t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	folder = filepath.Join(top, "folder")
	test := filepath.Join(top, "test")
	binary, err := os.ReadFile("/proc/self/exe")
	err = errors.Join(err, os.Chmod(top, 0o755), os.Mkdir(folder, 0o700), os.Chmod(folder, 0o777),
		os.WriteFile(test, binary, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	return folder, func(name string) {
		t.Helper()
		cmd := exec.Command(test, "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), asUserEnv+"="+name)
		cmd.Dir = folder
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: anotherUser, Gid: anotherUser}}
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
}

// TestReplacedByAnotherUser replaces files of other users in a directory that allows this. No user
// may gain access.
func TestReplacedByAnotherUser(t *testing.T) {
	if name := os.Getenv(asUserEnv); name != "" {
		write(t, name, "new")
		return
	}
	const owner, group = 1235, 1236
	folder, again := asAnotherUser(t)
	for _, c := range []struct {
		mode, want fs.FileMode
		acl        []byte
	}{
		{0o666, 0o666, nil},
		{0o662, 0o622, nil}, // the group of the new file is another one
		{0o660, 0o600, oneMore},
	} {
		name := filepath.Join(folder, "out")
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chmod(name, c.mode),
			os.Chown(name, owner, group)); err != nil {
			t.Fatal(err)
		}
		if c.acl != nil {
			setACL(t, name, aclAttribute, c.acl)
		}
		again(name)
		mode, is := stat(t, name)
		if mode != c.want || is.Uid != anotherUser || is.Gid != anotherUser || readACL(name) != nil {
			t.Errorf("%v with ACL %x: it is %v of %d and %d, ACL %x", c.mode, c.acl, mode, is.Uid, is.Gid, readACL(name))
		}
		if text, err := os.ReadFile(name); err != nil || strings.TrimSpace(string(text)) != "new" {
			t.Errorf("the file has %q, %v", text, err)
		}
	}
}

// TestNewFilesOfReplacedSet checks that an additional file of a set gets no more permissions than
// the old index had.
func TestNewFilesOfReplacedSet(t *testing.T) {
	name := filepath.Join(t.TempDir(), "set")
	mustWriteSet(t, name, "ab", Split{Files: 1})
	for _, file := range []string{name + ".000", name + ".index"} {
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustWriteSet(t, name, "abcd", Split{Files: 3})
	for _, file := range []string{name + ".000", name + ".001", name + ".002", name + ".index"} {
		if mode, _ := stat(t, file); mode != 0o600 {
			t.Errorf("%s has mode %v", file, mode)
		}
	}
}
