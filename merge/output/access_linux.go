package output

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// aclAttribute is the name of the extended attribute that contains the ACL of a file.
const aclAttribute = "system.posix_acl_access"

// maxACL is the maximum size of an extended attribute in bytes.
const maxACL = 64 << 10

// readACL returns the ACL of a file, or nil if it has none.
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
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.EOPNOTSUPP) ||
		errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return os.NewSyscallError("removexattr", err)
}
