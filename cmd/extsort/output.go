package main

import (
	"errors"
	"io"

	"github.com/extsort/extsort/merge/output"
)

// writeFile makes a file of what write writes; after an error there is none, or the one that was there before.
func writeFile(name string, write func(io.Writer) error) error {
	out, err := output.Open(name, nil)
	if err != nil {
		return err
	}
	if err := write(out); err != nil {
		return errors.Join(err, out.Abort())
	}
	return out.Commit(-1)
}
