package input

import (
	"fmt"
	"io"

	"github.com/extsort/extsort/format"
)

// openMember opens an array of an archive. It is read as a stream even if it is not compressed,
// because its checksum can then be verified in a single pass.
func openMember(kind Kind, f *seekable, windowBytes int64) (*Input, error) {
	var member *format.Member
	in, err := openWithin(kind, f, windowBytes, func() (io.ReadCloser, error) {
		all, err := format.Members(f, f.bytes)
		if err == nil {
			member, err = format.ChooseMember(all, kind.Member)
		}
		if err != nil {
			return nil, err
		}
		return member.Open()
	})
	if err != nil {
		return nil, err
	}
	in.member = member.Name
	if in.Records, err = format.CheckSize(f.shown, in.Header, member.Bytes); err != nil {
		in.Close()
		return nil, err
	}

	return in, nil
}

// noArchive returns the error for an archive that can only be read sequentially.
func noArchive(shown string) error {
	return fmt.Errorf(
		"%s: an archive in a pipe or a compressed file cannot be read: write it to a plain "+
			"file first",
		shown,
	)
}
