package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"
)

// inputs are the files that the contenders of a workload read: the raw data and other forms of
// it.
type inputs struct {
	shop       *workshop
	w          workload
	expected   contents         // of the raw file
	formErrors map[string]error // error of each form, by name; nil: the form exists
}

// rawName returns the name of the raw file.
func (in *inputs) rawName() string { return "in." + in.w.Name }

// name returns the name of the file of a form.
func (in *inputs) name(f form) string {
	if f.name == "" {
		return in.rawName()
	}
	return in.rawName() + "." + f.name
}

// newInputs generates the raw data and writes it to disk, so that no timed run has to wait for
// that.
func (shop *workshop) newInputs(
	ctx context.Context, w workload,
) (*inputs, error) {
	in := &inputs{
		shop:       shop,
		w:          w,
		formErrors: map[string]error{"": nil},
	}
	if err := shop.runUntimed(ctx, w.generate(shop.bytes, in.rawName()), nil, nil); err != nil {
		return in, err
	}
	if err := syncFile(shop.path(in.rawName())); err != nil {
		return in, err
	}
	var err error
	in.expected, err = shop.inspect(ctx, w, in.rawName(), nil)
	if err == nil && in.expected.Records != w.records(shop.bytes) {
		err = fmt.Errorf(
			"generated %d records instead of %d",
			in.expected.Records,
			w.records(shop.bytes),
		)
	}
	return in, err
}

func (in *inputs) remove() {
	for name := range in.formErrors {
		os.Remove(in.shop.path(in.name(form{name: name})))
	}
}

// ensureForm makes the file of the form unless it exists, and returns its name.
func (in *inputs) ensureForm(ctx context.Context, f form) (string, error) {
	name := in.name(f)
	if err, tried := in.formErrors[f.name]; tried {
		return name, err
	}
	in.shop.logf("  making %s", name)
	err := in.makeForm(ctx, f, name)
	if err == nil {
		err = syncFile(in.shop.path(name))
	} else {
		err = fmt.Errorf("create its input: %w", err)
	}
	in.formErrors[f.name] = err
	return name, err
}

func (in *inputs) makeForm(ctx context.Context, f form, name string) error {
	src, err := os.Open(in.shop.path(in.rawName()))
	if err != nil {
		return err
	}
	defer src.Close()
	if f.pack != nil {
		return in.packForm(ctx, f, name, src)
	}
	dst, err := os.Create(in.shop.path(name))
	if err != nil {
		return err
	}
	return errors.Join(f.encodeAll(ctx, dst, src, in.w), dst.Close())
}

// packForm runs the form's program to make the file from encoded records.
func (in *inputs) packForm(
	ctx context.Context, f form, name string, src io.Reader,
) error {
	group, ctx := errgroup.WithContext(ctx)
	encoded, end := io.Pipe()
	group.Go(func() error {
		return endPipe(end, f.encodeAll(ctx, end, src, in.w))
	})
	group.Go(func() error {
		err := in.shop.runUntimed(ctx, f.pack(name), encoded, nil)
		encoded.CloseWithError(err)
		return err
	})
	return group.Wait()
}

// copyTo copies a file and syncs the copy.
func (in *inputs) copyTo(name, target string) error {
	return copyFile(in.shop.path(target), in.shop.path(name))
}

// copyInto copies the raw data to the directory of another workshop.
func (in *inputs) copyInto(shop *workshop) (*inputs, error) {
	copied := &inputs{
		shop:       shop,
		w:          in.w,
		expected:   in.expected,
		formErrors: map[string]error{"": nil},
	}
	return copied, copyFile(shop.path(in.rawName()), in.shop.path(in.rawName()))
}

// warmCache reads the raw data into the page cache.
func (in *inputs) warmCache() error {
	f, err := os.Open(in.shop.path(in.rawName()))
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyBuffer(
		struct{ io.Writer }{io.Discard},
		struct{ io.Reader }{f},
		make([]byte, 1<<20),
	)
	return err
}

func copyFile(target, source string) error {
	src, err := os.Open(source)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(target)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
