package output

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// aclAttribute has the ACL of a file.
const aclAttribute = "system.posix_acl_access"

// maxACL is how large the value of an attribute can be.
const maxACL = 64 << 10

// readACL is the ACL of a file; nil: it has none.
func readACL(name string) []byte {
	acl := make([]byte, maxACL)
	n, err := unix.Getxattr(name, aclAttribute, acl)
	if err != nil || n == 0 {
		return nil
	}
	return acl[:n:n]
}

func writeACL(f *os.File, acl []byte) error {
	return unix.Fsetxattr(int(f.Fd()), aclAttribute, acl, 0)
}

func removeACL(f *os.File) error {
	err := unix.Fremovexattr(int(f.Fd()), aclAttribute)
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return os.NewSyscallError("removexattr", err)
}
