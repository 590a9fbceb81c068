package arena

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages. A kernel built without them refuses, which costs speed only.
func adviseHuge(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
