package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"
)

// contents is the part of the report of `extsort -c --stats=json` that identifies the records of
// a file.
type contents struct {
	Records  int64  `json:"records"`
	Checksum string `json:"checksum"` // independent of the order of the records
	inOrder  bool
}

// inspect checks a raw file, or raw records from a reader if file is "-".
func (shop *workshop) inspect(
	ctx context.Context, w workload, file string, records io.Reader,
) (contents, error) {
	c := append(
		append(command{"extsort", "-c", "--stats=json"}, w.describe...), file,
	)
	cmd := shop.prepare(ctx, c)
	var said bytes.Buffer
	cmd.Stdin = records
	cmd.Stderr = &said
	err := cmd.Run()
	// 1 means only that the records are not in order.
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		return contents{}, failure(ctx, c, err, said.Bytes())
	}
	found, parsed := parseContents(said.Bytes())
	found.inOrder = err == nil
	return found, parsed
}

// statistics finds and decodes the line of --stats=json in the standard error of extsort.
func statistics(said []byte, into any) (found bool, err error) {
	for line := range bytes.Lines(said) {
		if bytes.HasPrefix(line, []byte("{")) {
			return true, json.Unmarshal(line, into)
		}
	}
	return false, nil
}

func parseContents(said []byte) (c contents, err error) {
	found, err := statistics(said, &c)
	if !found {
		err = fmt.Errorf("extsort -c --stats=json reported nothing: %q", said)
	}
	return c, err
}

// check returns an error if an output is wrong.
func (shop *workshop) check(
	ctx context.Context, w workload, c contender, output string, want contents,
) error {
	found, err := shop.inspectForm(ctx, w, c.form, output)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return compareContents(found, want, !c.copies)
}

func compareContents(found, want contents, sorted bool) error {
	switch {
	case found.Records != want.Records:
		return fmt.Errorf("the output has %d records instead of %d", found.Records, want.Records)
	case found.Checksum != want.Checksum:
		return errors.New("the output has other records than expected")
	case sorted && !found.inOrder:
		return errors.New("the output is not in order")
	}
	return nil
}

// inspectForm converts a file of a form back to raw records and inspects them.
func (shop *workshop) inspectForm(
	ctx context.Context, w workload, f form, file string,
) (contents, error) {
	if f.name == "" {
		return shop.inspect(ctx, w, file, nil)
	}
	group, ctx := errgroup.WithContext(ctx)
	encoded, encodedEnd := io.Pipe()
	records, recordsEnd := io.Pipe()
	group.Go(func() error {
		return endPipe(encodedEnd, shop.unpack(ctx, f, file, encodedEnd))
	})
	group.Go(func() error {
		err := endPipe(recordsEnd, f.decodeAll(ctx, recordsEnd, encoded, w))
		encoded.CloseWithError(err)
		return err
	})
	var found contents
	group.Go(func() (err error) {
		found, err = shop.inspect(ctx, w, "-", records)
		records.CloseWithError(err)
		return err
	})
	err := group.Wait()
	return found, err
}

// endPipe closes the write end of a pipe, with an error if writing failed.
func endPipe(w *io.PipeWriter, err error) error {
	w.CloseWithError(err)
	return err
}

// unpack writes the encoded records in a file of a form to dst.
func (shop *workshop) unpack(
	ctx context.Context, f form, file string, dst io.Writer,
) error {
	if f.unpack != nil {
		return shop.runUntimed(ctx, f.unpack(file), nil, dst)
	}
	src, err := os.Open(shop.path(file))
	if err != nil {
		return err
	}
	defer src.Close()
	_, err = io.Copy(dst, src)
	return err
}
