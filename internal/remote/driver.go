package remote

import (
	"context"
	"errors"
	"fmt"
)

// A Driver sends the requests for remote files.
type Driver interface {
	// Open returns the object with the given URL.
	Open(ctx context.Context, name string) (*Object, error)

	// Create begins an upload in parts of part bytes, with up to parallel requests at a time.
	Create(ctx context.Context, name string, part, parallel int) (*Upload, error)

	// Forget removes incomplete uploads of all names that begin with prefix.
	Forget(ctx context.Context, prefix string) error
}

// driver is the registered driver, or nil. An init function sets it.
var driver Driver

var errNoDriver = errors.New(
	"this extsort was built without s3: it reads and writes local files only " +
		"(build it with -tags s3, or import remote/s3)",
)

// Register makes a driver available to Open, Create and Forget. It is called from an init
// function.
func Register(d Driver) { driver = d }

// Open opens a remote file and reads its first bytes. Cancelling ctx also ends later reads.
func Open(ctx context.Context, name string) (*Object, error) {
	if driver == nil {
		return nil, fmt.Errorf("%s: %w", WithoutSecrets(name), errNoDriver)
	}
	return driver.Open(ctx, name)
}

// Create begins an object that is uploaded in parts of part bytes, with up to parallel requests
// at a time. Cancelling ctx ends the upload.
func Create(ctx context.Context, name string, part, parallel int) (*Upload, error) {
	if driver == nil {
		return nil, fmt.Errorf("create output %s: %w", WithoutSecrets(name), errNoDriver)
	}
	return driver.Create(ctx, name, part, parallel)
}

// Forget aborts incomplete uploads of all names that begin with prefix.
func Forget(ctx context.Context, prefix string) error {
	if driver == nil {
		return fmt.Errorf("%s: %w", WithoutSecrets(prefix), errNoDriver)
	}
	return driver.Forget(ctx, prefix)
}
