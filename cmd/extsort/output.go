package main

import (
	"errors"
	"io"

	"github.com/extsort/extsort/chunker/input/pipe"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/output"
)

// writeOutput writes to the file called name, whole or not at all, or to stdout; compressed when the
// flags or the file's suffix say so.
func writeOutput(stdout io.Writer, name, compress string, write func(io.Writer) error) error {
	compression := format.BySuffix(name)
	if compress != "" {
		var err error
		if compression, err = format.ParseCompression(compress); err != nil {
			return err
		}
	}
	compressed := func(w io.Writer) error {
		z, err := format.NewWriter(w, compression, processors)
		if err != nil {
			return err
		}
		return errors.Join(write(z), z.Close())
	}
	if name == "" || name == "-" {
		out := pipe.NewWriter(stdout, pipe.WriterBytes)
		return errors.Join(compressed(out), out.Close())
	}
	return writeFile(name, compressed)
}

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
